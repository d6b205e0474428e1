// The model files that are shipped.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "penstock/model.h"

namespace penstock::testing {
namespace {

const std::filesystem::path kModels = std::filesystem::path(TEST_DATA) / "../../configs/models";

Model read(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return read_model(text.str(), path.string());
}

TEST(ModelFiles, AreAllRead) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kModels)) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_NO_THROW(read(entry.path())) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 12);
}

// Sixteen layers, so that eight actors with two chunks each find one, and bytes as vocabulary.
TEST(ModelFiles, TinyOnesSuitEverySchedule) {
  for (const char* name : {"tiny-gpt.json", "tiny-llama.json"}) {
    const Model model = read(kModels / name);
    EXPECT_EQ(model.layers, 16) << name;
    EXPECT_EQ(model.vocabulary, 256) << name;
    EXPECT_TRUE(model.notes.empty()) << name;
  }
}

}  // namespace
}  // namespace penstock::testing
