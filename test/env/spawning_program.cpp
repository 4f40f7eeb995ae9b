// Makes its first OpenCL call, with which the loader loads layers and cuts OPENCL_LAYERS, and then becomes
// the command that it was given: what that sees is what children of a real application see.
#include <CL/cl.h>
#include <unistd.h>

int main(int, char** arguments) {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || arguments[1] == nullptr) return 1;
  ::execvp(arguments[1], arguments + 1);
  return 1;
}
