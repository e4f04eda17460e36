# The environment of a run: Python with the packages of requirements.lock and the plugins for
# clusters, and the workflow in /clqa.
#
#   docker build -t clqa .
#   docker run --rm -v "$PWD/results:/clqa/results" clqa --cores 2
FROM python:3.13-slim-bookworm

WORKDIR /clqa
ENV PYTHONUNBUFFERED=1 MPLBACKEND=Agg NUMBA_CACHE_DIR=/clqa/.kernels
COPY requirements-slurm.lock requirements-slurm.lock
RUN pip install --no-cache-dir --require-hashes --requirement requirements-slurm.lock
COPY . .
# Kernels are compiled when the image is built, so that a job on a new node starts at once.
RUN snakemake --cores all --configfile config/test.yaml && rm -rf results/* .snakemake
ENTRYPOINT ["snakemake"]
