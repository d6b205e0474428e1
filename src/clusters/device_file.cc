#include "clusters/device_file.h"

#include <string>
#include <vector>

#include "clusters/curve_file.h"

namespace penstock {
namespace {

void read_peaks(const JsonReader& object, DeviceType& device) {
  object.only({"fp32", "tf32", "bf16", "fp16", "fp8", "source"});
  if (!object.is_object()) return;
  require_source(object);
  bool any = false;
  for (std::size_t i = 0; i < kArithmetics; ++i) {
    const std::string_view key = name(static_cast<Arithmetic>(i));
    device.flop_per_s[i] = object.number(key, {.min = 1e-6, .max = 1e6}) * 1e12;
    any = any || object.has(key);
  }
  if (!any) object.problem("no peak is given", "give one or more, in TFLOP/s: \"bf16\": 312");
}

void read_memory(const JsonReader& object, DeviceType& device) {
  object.only({"gib", "gb_per_s", "source"});
  if (!object.is_object()) return;
  require_source(object);
  const double gib = object.number("gib", {.required = true, .min = 1e-3, .max = 1e6});
  device.memory_bytes = static_cast<std::int64_t>(gib * (1 << 30));
  device.memory_bytes_per_s =
      object.number("gb_per_s", {.required = true, .min = 1e-3, .max = 1e6}) * 1e9;
}

// The work's curve, and those of single arithmetics ("fp8_by_gflop").
void read_efficiency(const JsonReader& object, Work work, DeviceType& device) {
  const bool is_memory = work == Work::Memory;
  const std::string unit = is_memory ? "by_mb" : "by_gflop";
  if (is_memory) {
    object.only({"by_mb", "source"});
  } else {
    object.only({"by_gflop", "fp32_by_gflop", "tf32_by_gflop", "bf16_by_gflop", "fp16_by_gflop",
                 "fp8_by_gflop", "source"});
  }
  if (!object.is_object()) return;
  require_source(object);
  const double scale = is_memory ? 1e6 : 1e9;
  const auto w = static_cast<std::size_t>(work);
  device.efficiency[w] = read_curve(object, unit, scale);
  for (std::size_t i = 0; i < kArithmetics && !is_memory; ++i) {
    const std::string own = std::string(name(static_cast<Arithmetic>(i))) + "_" + unit;
    if (object.has(own)) device.own_efficiency[w][i] = read_curve(object, own, scale);
  }
}

}  // namespace

DeviceType read_device(const JsonReader& object) {
  DeviceType device;
  object.only({"name", "peak_tflops", "memory", "efficiency"});
  if (!object.is_object()) return device;
  device.name = object.text("name", {}, true);
  if (const auto peaks = object.required("peak_tflops", "an object: peaks by arithmetic")) {
    read_peaks(*peaks, device);
  }
  if (const auto memory = object.required("memory", "an object: gib, gb_per_s, source")) {
    read_memory(*memory, device);
  }
  const auto efficiency = object.required("efficiency", "an object: a curve for each work");
  if (!efficiency) return device;
  efficiency->only({"forward", "input_gradient", "weight_gradient", "attention", "memory"});
  if (!efficiency->is_object()) return device;
  for (int i = 0; i < kWorks; ++i) {
    const auto work = static_cast<Work>(i);
    if (const auto curve = efficiency->required(name(work), "an object: points and their source")) {
      read_efficiency(*curve, work, device);
    }
  }
  return device;
}

}  // namespace penstock
