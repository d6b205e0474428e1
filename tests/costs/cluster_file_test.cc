#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "../formats/formats_testing.h"
#include "costs_testing.h"

namespace penstock {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kShipped = {"a100-sxm-80-hdr", "b200-hgx", "cpu-box",
                                           "gb200-nvl72",     "h100-dgx", "h200",
                                           "v100-p3.16xlarge"};

// The message for a shipped file with the members of `patch` put in (null removes one).
std::string message_with(const std::string& name, const std::string& patch) {
  nlohmann::json document = nlohmann::json::parse(shipped_text(name));
  document.merge_patch(nlohmann::json::parse(patch));
  return message_of([&] { read_cluster(document.dump(), "c.json"); });
}

std::string h100_with(const std::string& patch) {
  return message_with("h100-dgx", patch);
}

// NVIDIA H100 datasheet (SXM) and DGX H100 SuperPOD reference architecture.
TEST(ClusterFile, ReadsAnH100) {
  const Cluster cluster = shipped("h100-dgx");
  EXPECT_EQ(cluster.devices(), 4608);  // Eos
  EXPECT_EQ(cluster.device.flop_per_s[static_cast<std::size_t>(Arithmetic::Bf16)], 989.4e12);
  EXPECT_EQ(cluster.device.memory_bytes, std::int64_t{80} << 30);
  EXPECT_EQ(cluster.node.device_link.bytes_per_s, 450e9);
  EXPECT_EQ(cluster.node.device_link.latency, 3330);
  EXPECT_TRUE(cluster.node.device_link.in_switch.has_value());
  EXPECT_EQ(cluster.nics.size(), 8u);
  EXPECT_EQ(cluster.nics[3], (NicGroup{{3}, 1}));
  EXPECT_EQ(cluster.nic.bytes_per_s, 50e9);
  EXPECT_EQ(cluster.fabric.kind, FabricKind::Rail);
  EXPECT_EQ(cluster.device.fraction(Work::Forward, Arithmetic::Bf16, 1e12), 0.803);
  EXPECT_EQ(cluster.device.fraction(Work::Forward, Arithmetic::Fp8, 1e12), 0.709);
}

TEST(ClusterFile, EveryShippedOneIsReadAndNamedAfterItsFile) {
  for (const std::string& name : kShipped) {
    const Cluster cluster = shipped(name);
    EXPECT_EQ(cluster.name, name);
    EXPECT_FALSE(cluster.about.empty());
  }
}

// docs/clusters.md shows a whole file.
TEST(ClusterFile, TheDocumentedOneIsRead) {
  const std::string page = read_file(CONFIGS "/../docs/clusters.md");
  const std::size_t begin = page.find("```json") + 7;
  const Cluster cluster = read_cluster(page.substr(begin, page.find("```", begin) - begin), "doc");
  EXPECT_EQ(cluster.devices(), 128);
  EXPECT_EQ(cluster.device.fraction(Work::Forward, Arithmetic::Fp8, 10e9), 0.4);
}

void expect_sources(const nlohmann::json& value, const std::string& place, bool covered) {
  if (value.is_number()) {
    EXPECT_TRUE(covered) << place;
  } else if (value.is_structured()) {
    const bool here = covered || (value.is_object() && value.contains("source"));
    for (const auto& [key, member] : value.items()) expect_sources(member, place + "/" + key, here);
  }
}

TEST(ClusterFile, EveryShippedFigureHasASource) {
  for (const std::string& name : kShipped) {
    nlohmann::json document = nlohmann::json::parse(shipped_text(name));
    document.erase("penstock_cluster");
    document.erase("nodes");  // how large it is, is the user's choice
    document["node"].erase("devices");
    expect_sources(document, name, false);
  }
}

TEST(ClusterFile, SaysWhatIsMissing) {
  const std::string text = message_of([] { read_cluster("{}", "c.json"); });
  for (const std::string key : {"penstock_cluster", "name", "device", "node", "nodes"}) {
    EXPECT_THAT(text, HasSubstr("c.json: '" + key + "' is missing"));
  }
  EXPECT_THAT(h100_with(R"({"nics": null, "fabric": null})"),
              AllOf(HasSubstr("'nics' is missing"), HasSubstr("'fabric' is missing")));
  EXPECT_EQ(h100_with(R"({"nics": null, "fabric": null, "nodes": 1})"), "");
  EXPECT_THAT(h100_with(R"({"device": {"memory": {"source": null}}})"),
              HasSubstr("c.json:/device/memory: 'source' is missing"));
  EXPECT_THAT(h100_with(R"({"device": {"memory": {"source": ""}}})"),
              HasSubstr("c.json:/device/memory/source: empty"));
}

// All at once, each with its place and a hint.
TEST(ClusterFile, SaysAllThatIsWrong) {
  const std::string text = h100_with(R"({
    "nodes": 0, "rack": 1,
    "device": {"peak_tflops": {"bf61": 3, "fp8": -1}, "efficiency": {"forward": {"by_gflop": []}}},
    "node": {"link": {"joins": "swich", "message": {"start_us": "1"}}},
    "nics": {"count": 3}, "fabric": {"kind": "rails", "oversubscription": 0.5}})");
  for (const std::string part :
       {"c.json:/nodes: 0 is out of range", "unknown key 'rack'", "unknown key 'bf61'",
        "/device/peak_tflops/fp8: -1 is out of range", "/forward/by_gflop: no points",
        "did you mean 'switch'?", "/node/link/message/start_us: expected a number",
        "c.json:/nics: 3 NICs do not divide among 8 devices", "did you mean 'rail'?",
        "/fabric/oversubscription: 0.5 is out of range"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ClusterFile, RefusesCurvesOnWhichMoreWorkTakesLessTime) {
  const auto forward = [](const std::string& points) {
    return h100_with(R"({"device": {"efficiency": {"forward": {"by_gflop": )" + points + "}}}}");
  };
  EXPECT_EQ(forward("[[1, 0.1], [100, 0.5]]"), "");
  EXPECT_THAT(forward("[[1, 0.1], [2, 0.5]]"), HasSubstr("larger work would take less time"));
  EXPECT_THAT(forward("[[2, 0.1], [2, 0.1]]"), HasSubstr("the sizes do not rise"));
  EXPECT_THAT(forward("[[2, 1.5]]"), HasSubstr("out of range"));
  EXPECT_THAT(forward("[[2]]"), HasSubstr("expected [size, fraction]"));
  EXPECT_THAT(forward("[7]"), HasSubstr("expected an array"));
}

TEST(ClusterFile, ReadsWhichDevicesShareANic) {
  nlohmann::json document = nlohmann::json::parse(shipped_text("h100-dgx"));
  document["nics"]["count"] = 4;
  Cluster cluster = read_cluster(document.dump(), "c.json");
  EXPECT_EQ(cluster.nics[1], (NicGroup{{2, 3}, 1}));
  EXPECT_EQ(cluster.nics_of(8 + 3), 1u);
  document["nics"]["count"] = 32;  // p5.48xlarge
  EXPECT_EQ(read_cluster(document.dump(), "c.json").nics[7], (NicGroup{{7}, 4}));
  document["nics"]["count"] = 2;
  document["nics"]["serves"] = {{0, 2, 4, 6}, {1, 3, 5, 7}};
  cluster = read_cluster(document.dump(), "c.json");
  EXPECT_EQ(cluster.nics_of(5), 1u);
  EXPECT_THAT(h100_with(R"({"nics": {"count": 2, "serves": [[0, 1, 2], [2, 8, 8]]}})"),
              AllOf(HasSubstr("8 is out of range"), HasSubstr("NICs that differ serve device 2"),
                    HasSubstr("no NIC serves device 7"), HasSubstr("each once")));
  EXPECT_THAT(h100_with(R"({"nics": {"serves": [[0]]}})"), HasSubstr("1 entries for 8 NICs"));
}

TEST(ClusterFile, RefusesWiresThatAreNone) {
  const auto wires = [](const std::string& list) {
    return message_with("v100-p3.16xlarge", R"({"node": {"link": {"wires": )" + list + "}}}");
  };
  EXPECT_THAT(wires("[[0, 0, 1]]"), HasSubstr("joined to itself"));
  EXPECT_THAT(wires("[[0, 1, 1], [1, 0, 1]]"), HasSubstr("joined twice"));
  EXPECT_THAT(wires("[[0, 8, 1]]"), HasSubstr("8 is out of range"));
  EXPECT_THAT(wires("[[0, 1]]"), HasSubstr("expected [device, device, links]"));
  EXPECT_THAT(h100_with(R"({"node": {"link": {"wires": []}}})"),
              HasSubstr("a switch joins all devices"));
}

TEST(Curve, IsLinearInTheLogarithmOfTheSize) {
  const Curve curve = {{{1, 0.2}, {100, 0.6}}};
  EXPECT_EQ(curve.at(0), 0.2);
  EXPECT_EQ(curve.at(1), 0.2);
  EXPECT_DOUBLE_EQ(curve.at(10), 0.4);
  EXPECT_EQ(curve.at(100), 0.6);
  EXPECT_EQ(curve.at(1e9), 0.6);
}

// On what the reader takes, more work never takes less time.
RC_GTEST_PROP(Curve, NeverMakesMoreWorkShorter, ()) {
  auto points = nlohmann::json::array();
  double size = *rc::gen::inRange(1, 100);
  const auto count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    points.push_back({size, *rc::gen::inRange(1, 1001) / 1000.0});
    size += *rc::gen::inRange(1, 200);
  }
  nlohmann::json document = nlohmann::json::parse(shipped_text("cpu-box"));
  document["device"]["efficiency"]["forward"]["by_gflop"] = points;
  Cluster cluster;
  try {
    cluster = read_cluster(document.dump(), "c.json");
  } catch (const Error&) {
    return;
  }
  double before = 0;
  for (double gflop = 0.5; gflop < size * 1.1; gflop *= 1.01) {
    const double time =
        gflop / cluster.device.fraction(Work::Forward, Arithmetic::Fp32, gflop * 1e9);
    RC_ASSERT(time >= before * (1 - 1e-12));
    before = time;
  }
}

// Anything else throws Error, and nothing else escapes.
RC_GTEST_PROP(ClusterFile, ReadsOrRefusesWhatIsNearAFile, ()) {
  const std::string text = mutated(shipped_text(*rc::gen::elementOf(kShipped)));
  try {
    const Cluster cluster = read_cluster(text, "c.json");
    RC_ASSERT(path(cluster, 0, cluster.devices() - 1).hops.empty() == (cluster.devices() == 1));
  } catch (const Error& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace penstock
