// What is compiled into the image that heat_driver loads.
#include "heat_kernels.cuh"
