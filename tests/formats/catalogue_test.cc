// Every schedule of the catalogue through every file format that can hold it.
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../generate_near.h"
#include "formats_testing.h"
#include "penstock/formats.h"
#include "testing_files.h"

namespace penstock {
namespace {

class Catalogue : public testing::TestWithParam<Generator> {
 protected:
  static Schedule schedule() {
    const auto near = generate_near(GetParam().name, {.actors = 4, .chunks = 2, .microbatches = 8});
    if (!near) throw std::runtime_error("refuses 4 actors and 8 microbatches");
    return *near;
  }
};

TEST_P(Catalogue, JsonHoldsIt) {
  EXPECT_EQ(read_schedule(write_schedule(schedule(), Format::Json), "x"), schedule());
}

// What is left out is the name; several routes, windows, and updates in a torch table are refused
// with the reason.
TEST_P(Catalogue, TextAndTorchHoldOneRoute) {
  for (const Format format :
       {Format::Text, Format::TorchCompute, Format::TorchComms, Format::TorchFsdp}) {
    Schedule written = schedule();
    SCOPED_TRACE(name(format));
    if (written.pipeline.routes.size() > 1) {
      EXPECT_EQ(message_of([&] { write_schedule(written, format); }),
                fmt::format("schedule '{}': {} cannot hold it: it has {} routes, where a stage "
                            "feeds the one numbered after it\n  hint: write it as json",
                            written.name, name(format), written.pipeline.routes.size()));
      continue;
    }
    const bool is_torch = format != Format::Text;
    if (written.pipeline.learning != Learning{} || (is_torch && updates_inside(written))) {
      EXPECT_TRUE(message_of([&] {
                    write_schedule(written, format);
                  }).ends_with("\n  hint: write it as json"));
      continue;
    }
    const std::string file = write_schedule(written, format);
    Schedule read = read_schedule(file, "x");
    read.name = written.name;
    EXPECT_EQ(read, written);
    EXPECT_EQ(write_schedule(read, format), file);
  }
}

std::string spelt(const testing::TestParamInfo<Generator>& info) {
  return "_" + std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(All, Catalogue,
                         testing::ValuesIn(generators().begin(), generators().end()), spelt);

}  // namespace
}  // namespace penstock
