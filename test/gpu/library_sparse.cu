// cuSPARSE in a loop: damped Jacobi sweeps for a five-point matrix in CSR form, matrix times vector by the library.
#include <cusparse.h>

#include "cuda_check.h"
#include "library_loop.h"

namespace {

void check_sparse(cusparseStatus_t status, const char* call) {
  if (status != CUSPARSE_STATUS_SUCCESS) gpu_test::library_failed(call, cusparseGetErrorString(status));
}
#define CHECK_SPARSE(call) check_sparse((call), #call)

constexpr int kSide = 96;
constexpr int kRows = kSide * kSide;

struct Matrix {
  std::vector<int> starts{0}, columns;
  std::vector<float> values;
};

Matrix five_point() {
  Matrix matrix;
  for (int row = 0; row < kRows; ++row) {
    const int x = row % kSide, y = row / kSide;
    const auto add = [&](bool inside, int column, float value) {
      if (!inside) return;
      matrix.columns.push_back(column);
      matrix.values.push_back(value);
    };
    add(y > 0, row - kSide, -1.0f);
    add(x > 0, row - 1, -1.0f);
    add(true, row, 4.0f);
    add(x < kSide - 1, row + 1, -1.0f);
    add(y < kSide - 1, row + kSide, -1.0f);
    matrix.starts.push_back(static_cast<int>(matrix.columns.size()));
  }
  return matrix;
}

template <typename T>
T* upload(const std::vector<T>& values) {
  T* data = nullptr;
  CHECK_CUDA(cudaMalloc(&data, values.size() * sizeof(T)));
  CHECK_CUDA(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());  // it may return before all has arrived, and these streams do not wait for that
  return data;
}

__global__ void relax(float* x, const float* b, const float* product, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) x[i] += 0.2f * (b[i] - product[i]);
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "library_sparse [--iterations N]");
  const int iterations = arguments.integer("iterations", 2000);
  arguments.nothing_left();

  const Matrix matrix = five_point();
  int* starts = upload(matrix.starts);
  int* columns = upload(matrix.columns);
  float* values = upload(matrix.values);
  float* x = gpu_test::upload_random(kRows, 5);
  float* b = gpu_test::upload_random(kRows, 6);
  float* product = gpu_test::upload_random(kRows, 7);

  cudaStream_t stream = nullptr;
  cusparseHandle_t handle = nullptr;
  cusparseSpMatDescr_t a = nullptr;
  cusparseDnVecDescr_t vector = nullptr, result = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_SPARSE(cusparseCreate(&handle));
  CHECK_SPARSE(cusparseSetStream(handle, stream));
  CHECK_SPARSE(cusparseCreateCsr(&a, kRows, kRows, static_cast<std::int64_t>(matrix.values.size()), starts, columns,
                                 values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  CHECK_SPARSE(cusparseCreateDnVec(&vector, kRows, x, CUDA_R_32F));
  CHECK_SPARSE(cusparseCreateDnVec(&result, kRows, product, CUDA_R_32F));
  const float one = 1.0f, zero = 0.0f;
  // The second algorithm gives the same bits in every run.
  constexpr cusparseSpMVAlg_t kAlgorithm = CUSPARSE_SPMV_CSR_ALG2;
  std::size_t size = 0;
  CHECK_SPARSE(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vector, &zero, result,
                                       CUDA_R_32F, kAlgorithm, &size));
  void* workspace = nullptr;
  CHECK_CUDA(cudaMalloc(&workspace, size > 0 ? size : 1));

  gpu_test::Loop loop("spmv");
  for (int i = 0; i < iterations; ++i) {
    CHECK_SPARSE(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vector, &zero, result, CUDA_R_32F,
                              kAlgorithm, workspace));
    relax<<<(kRows + 255) / 256, 256, 0, stream>>>(x, b, product, kRows);
    if (i % 20 == 19) CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  loop.print({{x, kRows}, {product, kRows}});
  CHECK_SPARSE(cusparseDestroyDnVec(vector));
  CHECK_SPARSE(cusparseDestroyDnVec(result));
  CHECK_SPARSE(cusparseDestroySpMat(a));
  CHECK_SPARSE(cusparseDestroy(handle));
  return 0;
}
