// Preloaded, it makes the MPI of a test report that it sends from the memory of a GPU. That of the fake
// driver is the process's own, so every MPI can.
extern "C" __attribute__((visibility("default"))) int MPIX_Query_cuda_support() { return 1; }
