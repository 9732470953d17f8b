/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps GPU 0 and its PCIe link busy. Usage: load SECONDS */
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void burn(float *out, int rounds)
{
    float a = threadIdx.x, b = blockIdx.x;
    for (int i = 0; i < rounds; i++) {
        a = a * 1.000001f + b;
        b = b * 0.999999f + a;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}

int main(int argc, char **argv)
{
    const size_t copy_bytes = 64u << 20, held_bytes = (size_t)4 << 30;
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
    float *out;
    char *device, *pinned;
    cudaStream_t compute, copy;
    if (cudaMalloc(&out, 4 * 1024 * 1024) || cudaMalloc(&device, held_bytes) ||
        cudaMallocHost(&pinned, copy_bytes) || cudaStreamCreate(&compute) ||
        cudaStreamCreate(&copy)) {
        fprintf(stderr, "load: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    puts("busy");
    fflush(stdout);
    while (time(NULL) < end) {
        burn<<<1024, 1024, 0, compute>>>(out, 1 << 16);
        cudaMemcpyAsync(device, pinned, copy_bytes, cudaMemcpyHostToDevice, copy);
        cudaMemcpyAsync(pinned, device, copy_bytes, cudaMemcpyDeviceToHost, copy);
        cudaDeviceSynchronize();
    }
    return 0;
}
