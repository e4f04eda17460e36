"""A Slurm of one node for the time of a test or of one command: `private_slurm.py COMMAND...`.

It needs Debian's slurm-wlm and munge, and root. Its daemons are children of this process, which
ends them, and only them; their key, ports, logs and state are in a folder of their own.
"""

import argparse
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")
# The only place where programs find it that are started without SLURM_CONF: Snakemake's plugin
# takes that from the jobs.
FOUND_HERE = Path("/etc/slurm")
CLUSTER = "clqa-test"

CONFIGURATION = """\
ClusterName={cluster}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=600
KillWait=2
InactiveLimit=0
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
CGROUPS = """\
CgroupPlugin=cgroup/{version}
CgroupMountpoint={place}
ConstrainCores=no
ConstrainRAMSpace=no
ConstrainDevices=no
"""


class Slurm:
    """The daemons and their folder, whose logs tell what went wrong."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.configuration = folder / "slurm.conf"
        self.daemons: dict[str, subprocess.Popen] = {}

    def start(self, cpus: int, memory: int) -> None:
        """Bring everything up; `memory` is that of the node in MB."""
        self._write_configuration(cpus, memory)
        key, socket_file = self.folder / "munge.key", self.folder / "munge.socket"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        own = [f"--key-file={key}", f"--socket={socket_file}", f"--pid-file={key}.pid"]
        own += [f"--log-file={self.folder}/munged.log", f"--seed-file={key}.seed"]
        self._daemon("munged", "--foreground", "--force", *own)
        self._until(socket_file.exists, "munged has no socket")
        self._daemon("slurmctld", "-D", "-c", "-f", str(self.configuration))
        self.start_node()
        self._until(self._is_idle, "the node is not up")

    def start_node(self) -> None:
        self._daemon("slurmd", "-D", "-f", str(self.configuration))

    def stop_node(self) -> None:
        """End slurmd; the jobs of its node go on."""
        self._end("slurmd")

    def stop(self) -> None:
        """Cancel what is left and end the daemons."""
        if "slurmctld" in self.daemons:
            self.run("scancel", "--state=PENDING")
            self.run("scancel", "--state=RUNNING")
            with contextlib.suppress(TimeoutError):
                self._until(lambda: not self.run("squeue", "--noheader"), "jobs are left")
        for name in ("slurmd", "slurmctld", "munged"):
            self._end(name)

    def jobs(self) -> list[dict[str, str]]:
        """What the controller knows of each job that it has seen."""
        shown = self.run("scontrol", "--oneliner", "--all", "show", "jobs")
        pairs = [[part.partition("=") for part in line.split()] for line in shown.splitlines()]
        found = [{key: value for key, _, value in line} for line in pairs]
        return [job for job in found if "JobId" in job]

    def run(self, *command: str) -> str:
        environment = {**os.environ, "SLURM_CONF": str(self.configuration)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout

    def logs(self) -> str:
        """The last lines of each daemon's log."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{file.name}: ...{file.read_text()[-1500:]}" for file in files)

    def _write_configuration(self, cpus: int, memory: int) -> None:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], other.getsockname()[1]
        text = CONFIGURATION.format(
            cluster=CLUSTER,
            host=socket.gethostname().partition(".")[0],
            controller_port=ports[0],
            node_port=ports[1],
            folder=self.folder,
            cpus=cpus,
            memory=memory,
        )
        self.configuration.write_text(text)
        place = Path("/sys/fs/cgroup")
        unified = (place / "cgroup.controllers").exists()
        groups = CGROUPS.format(version="v2" if unified else "v1", place=place)
        (self.folder / "cgroup.conf").write_text(groups + "IgnoreSystemd=yes\n" * unified)
        for name in ("state", "spool"):
            (self.folder / name).mkdir(exist_ok=True)

    def _daemon(self, program: str, *arguments: str) -> None:
        environment = {**os.environ, "SLURM_CONF": str(self.configuration)}
        with open(self.folder / f"{program}.out.log", "a") as out:
            self.daemons[program] = subprocess.Popen(
                [program, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _end(self, program: str) -> None:
        daemon = self.daemons.pop(program, None)
        if daemon is None or daemon.poll() is not None:
            return
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(15)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def _is_idle(self) -> bool:
        return self.run("sinfo", "--noheader", "--format=%t").strip() == "idle"

    def _until(self, condition, otherwise: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not condition():
            for name, daemon in self.daemons.items():
                if daemon.poll() is not None:
                    raise RuntimeError(f"{name} ended with {daemon.returncode}\n{self.logs()}")
            if time.monotonic() > end:
                raise TimeoutError(f"{otherwise}\n{self.logs()}")
            time.sleep(0.2)


def why_not() -> str | None:
    """Why no Slurm can be started on this machine, if so."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=_path()) is None]
    if missing:
        return f"no {', '.join(missing)}: apt-get install slurm-wlm munge"
    if os.geteuid() != 0:
        return "the daemons have to be started as root"
    configuration = FOUND_HERE / "slurm.conf"
    if configuration.exists() and f"ClusterName={CLUSTER}\n" not in configuration.read_text():
        return f"{configuration}: this machine has a Slurm of its own"
    return None


@contextlib.contextmanager
def running(cpus: int, memory: int = 16_000) -> Iterator[Slurm]:
    """A Slurm that is up, of one node with so many cores and MB of memory."""
    os.environ["PATH"] = _path()
    with (
        tempfile.TemporaryDirectory(prefix="clqa-slurm-") as folder,
        contextlib.ExitStack() as undo,
    ):
        FOUND_HERE.mkdir(exist_ok=True)
        turn = os.open(FOUND_HERE, os.O_RDONLY)
        undo.callback(os.close, turn)
        fcntl.flock(turn, fcntl.LOCK_EX)  # one at a time
        slurm = Slurm(Path(folder))
        for name in ("slurm.conf", "cgroup.conf"):
            link = FOUND_HERE / name
            link.unlink(missing_ok=True)
            link.symlink_to(slurm.folder / name)
            undo.callback(link.unlink, missing_ok=True)
        undo.callback(slurm.stop)
        slurm.start(cpus, memory)
        yield slurm


def _path() -> str:
    """PATH with the folders where daemons are."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what is run under Slurm")
    command = parser.parse_args().command
    reason = why_not()
    if reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with running(cpus=max(os.cpu_count() or 1, 2)):
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
