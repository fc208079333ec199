# The package in an image: `docker build -t oneflow .`, and for NVIDIA's GPUs
# `docker build -t oneflow --build-arg EXTRAS=cuda,vision,onnx,serving .`, run with `--gpus all`:
# JAX's wheels bring CUDA's libraries, the host its driver.
FROM python:3.12-slim

ARG EXTRAS=vision,onnx,serving

COPY . /source
RUN pip install --no-cache-dir "/source[${EXTRAS}]" && rm -r /source

# Of the server, should that be what runs: HTTP and gRPC.
EXPOSE 8000 8001
WORKDIR /work
ENTRYPOINT ["python", "-m", "oneflow"]
CMD ["doctor"]
