#!/bin/sh
# How the Slurm job with this number is: running, success or failed.
case "$(scontrol --oneliner show job "$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')" in
  COMPLETED) echo success ;;
  BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | TIMEOUT) echo failed ;;
  *) echo running ;;
esac
