/* A driver by name alone: enough for `refrain run` to take its place, and for a program to call it. */
int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  *name = "CUDA_SUCCESS";
  return error == 0 ? 0 : 1;
}
