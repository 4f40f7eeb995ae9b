// A stream of images through blur, edge detection and histogram. One queue moves data, another computes;
// events tie them together, and two sets of buffers let the transfer of one frame overlap the work on the
// other.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "common.h"

namespace {

constexpr int kBins = 256;
constexpr int kSlots = 2;
using Pixels = std::vector<std::uint8_t>;
using Histogram = std::vector<std::uint32_t>;

constexpr const char* kKernels = R"cl(
int pixel(global const uchar* image, int x, int y, int width, int height) {
  return image[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
}

kernel void blur_rows(global const uchar* in, global uchar* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  out[y * width + x] = (pixel(in, x - 1, y, width, height) + 2 * pixel(in, x, y, width, height) +
                        pixel(in, x + 1, y, width, height) + 2) / 4;
}

kernel void blur_columns(global const uchar* in, global uchar* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  out[y * width + x] = (pixel(in, x, y - 1, width, height) + 2 * pixel(in, x, y, width, height) +
                        pixel(in, x, y + 1, width, height) + 2) / 4;
}

kernel void sobel(global const uchar* in, global uchar* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  int across = 0, down = 0;
  for (int d = -1; d <= 1; ++d) {
    int weight = d == 0 ? 2 : 1;
    across += weight * (pixel(in, x + 1, y + d, width, height) - pixel(in, x - 1, y + d, width, height));
    down += weight * (pixel(in, x + d, y + 1, width, height) - pixel(in, x + d, y - 1, width, height));
  }
  out[y * width + x] = min((int)(abs(across) + abs(down)), 255);
}

/* Every work-group counts its rows in local memory and adds its counts to the total once. */
kernel void count_pixels(global const uchar* in, int count, global uint* bins, local uint* mine) {
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) mine[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) atomic_inc(&mine[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) atomic_add(&bins[i], mine[i]);
}
)cl";

struct Options {
  sample::DeviceChoice device;
  int width = 256;
  int height = 192;
  int frames = 1500;
  bool check = false;
};

/// A moving pattern; `number` also seeds a little noise, so that no two frames are equal.
void draw_frame(int width, int height, int number, Pixels& out) {
  std::uint32_t noise = 0x9e3779b9u * static_cast<std::uint32_t>(number + 1);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      noise = noise * 1664525u + 1013904223u;
      const int wave = ((x + 3 * number) ^ (y + number)) & 0xff;
      out[static_cast<std::size_t>(y) * width + x] =
          static_cast<std::uint8_t>((wave * 7 + static_cast<int>(noise >> 24)) / 8);
    }
  }
}

/// The same work on the host, for --check.
Pixels edges_on_host(const Pixels& frame, int width, int height) {
  const auto at = [&](const Pixels& image, int x, int y) -> int {
    return image[static_cast<std::size_t>(std::clamp(y, 0, height - 1)) * width + std::clamp(x, 0, width - 1)];
  };
  const auto each = [&](auto&& value) {
    Pixels out(frame.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        out[static_cast<std::size_t>(y) * width + x] = static_cast<std::uint8_t>(value(x, y));
      }
    }
    return out;
  };
  const Pixels rows =
      each([&](int x, int y) { return (at(frame, x - 1, y) + 2 * at(frame, x, y) + at(frame, x + 1, y) + 2) / 4; });
  const Pixels blurred =
      each([&](int x, int y) { return (at(rows, x, y - 1) + 2 * at(rows, x, y) + at(rows, x, y + 1) + 2) / 4; });
  return each([&](int x, int y) {
    int across = 0, down = 0;
    for (int d = -1; d <= 1; ++d) {
      const int weight = d == 0 ? 2 : 1;
      across += weight * (at(blurred, x + 1, y + d) - at(blurred, x - 1, y + d));
      down += weight * (at(blurred, x + d, y + 1) - at(blurred, x + d, y - 1));
    }
    return std::min(std::abs(across) + std::abs(down), 255);
  });
}

/// One of the two sets of buffers: while the device works on one frame, the other is filled and emptied.
struct Slot {
  Slot(const cl::Context& context, std::size_t pixels)
      : frame(pixels),
        edges(pixels),
        histogram(kBins),
        input(context, CL_MEM_READ_ONLY, pixels),
        rows(context, CL_MEM_READ_WRITE, pixels),
        blurred(context, CL_MEM_READ_WRITE, pixels),
        output(context, CL_MEM_READ_WRITE, pixels),
        bins(context, CL_MEM_READ_WRITE, kBins * sizeof(std::uint32_t)) {}

  int number = -1;  ///< the frame in work; -1: none
  Pixels frame, edges;
  Histogram histogram;
  cl::Buffer input, rows, blurred, output, bins;
  cl::Event edges_read, histogram_read;
};

class Pipeline {
 public:
  explicit Pipeline(const Options& options)
      : options_(options),
        pixels_(static_cast<std::size_t>(options.width) * options.height),
        device_(sample::find_device(options.device)),
        context_(device_),
        transfers_(context_, device_),
        compute_(context_, device_),
        program_(sample::build(context_, device_, kKernels)),
        blur_rows_(program_, "blur_rows"),
        blur_columns_(program_, "blur_columns"),
        sobel_(program_, "sobel"),
        count_(program_, "count_pixels"),
        slots_{Slot(context_, pixels_), Slot(context_, pixels_)} {}

  bool run() {
    const sample::Stopwatch stopwatch;
    for (int i = 0; i < options_.frames; ++i) {
      Slot& slot = slots_[i % kSlots];
      finish(slot);
      draw_frame(options_.width, options_.height, i, slot.frame);
      slot.number = i;
      submit(slot);
    }
    for (int i = 0; i < kSlots; ++i) finish(slots_[(options_.frames + i) % kSlots]);
    stopwatch.print();
    std::printf("%d frames, %d wrong\n", options_.frames, wrong_);
    checksum_.print();
    return wrong_ == 0;
  }

 private:
  void submit(Slot& slot) {
    cl::Event uploaded, edges_done, counted;
    transfers_.enqueueWriteBuffer(slot.input, CL_FALSE, 0, pixels_, slot.frame.data(), nullptr, &uploaded);
    transfers_.flush();

    const std::vector<cl::Event> after_upload{uploaded};
    filter(blur_rows_, slot.input, slot.rows, &after_upload, nullptr);
    filter(blur_columns_, slot.rows, slot.blurred, nullptr, nullptr);
    filter(sobel_, slot.blurred, slot.output, nullptr, &edges_done);
    compute_.enqueueFillBuffer(slot.bins, std::uint32_t{0}, 0, kBins * sizeof(std::uint32_t));
    count_.setArg(0, slot.output);
    count_.setArg(1, static_cast<int>(pixels_));
    count_.setArg(2, slot.bins);
    count_.setArg(3, cl::Local(kBins * sizeof(std::uint32_t)));
    compute_.enqueueNDRangeKernel(count_, cl::NullRange, cl::NDRange(1024), cl::NDRange(128), nullptr, &counted);
    compute_.flush();

    const std::vector<cl::Event> after_edges{edges_done}, after_count{counted};
    transfers_.enqueueReadBuffer(slot.output, CL_FALSE, 0, pixels_, slot.edges.data(), &after_edges, &slot.edges_read);
    transfers_.enqueueReadBuffer(slot.bins, CL_FALSE, 0, kBins * sizeof(std::uint32_t), slot.histogram.data(),
                                 &after_count, &slot.histogram_read);
    transfers_.flush();
  }

  void filter(cl::Kernel& kernel, const cl::Buffer& in, const cl::Buffer& out, const std::vector<cl::Event>* after,
              cl::Event* done) {
    kernel.setArg(0, in);
    kernel.setArg(1, out);
    kernel.setArg(2, options_.width);
    kernel.setArg(3, options_.height);
    const cl::NDRange global(sample::round_up(options_.width, 64), sample::round_up(options_.height, 4));
    compute_.enqueueNDRangeKernel(kernel, cl::NullRange, global, cl::NDRange(64, 4), after, done);
  }

  /// Waits for the frame in this slot, if there is one, and looks at what came back.
  void finish(Slot& slot) {
    if (slot.number < 0) return;
    cl::Event::waitForEvents({slot.edges_read, slot.histogram_read});
    checksum_.add(slot.histogram);
    if (slot.number % 16 == 0) checksum_.add(slot.edges);

    bool right = true;
    Histogram counts(kBins);
    for (const std::uint8_t value : slot.edges) ++counts[value];
    right = counts == slot.histogram;
    if (options_.check) {
      right = right && slot.edges == edges_on_host(slot.frame, options_.width, options_.height);
    }
    if (!right) {
      ++wrong_;
      std::printf("frame %d: WRONG\n", slot.number);
    }
    slot.number = -1;
  }

  Options options_;
  std::size_t pixels_;
  cl::Device device_;
  cl::Context context_;
  cl::CommandQueue transfers_, compute_;
  cl::Program program_;
  cl::Kernel blur_rows_, blur_columns_, sobel_, count_;
  std::array<Slot, kSlots> slots_;
  sample::Checksum checksum_;
  int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    CLI::App app("A stream of images through blur, edge detection and histogram, on two queues.");
    app.add_option("--width", options.width, "Width of a frame in pixels")
        ->capture_default_str()
        ->check(CLI::Range(8, 16384));
    app.add_option("--height", options.height, "Height of a frame in pixels")
        ->capture_default_str()
        ->check(CLI::Range(8, 16384));
    app.add_option("--frames", options.frames, "Frames to process")
        ->capture_default_str()
        ->check(CLI::Range(1, 10000000));
    app.add_flag("--check", options.check, "Compare every frame with the same work done on the host");
    sample::add_device_options(app, options.device);
    CLI11_PARSE(app, argc, argv);
    return Pipeline(options).run() ? 0 : 1;
  });
}
