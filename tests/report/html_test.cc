#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "penstock/report.h"
#include "sample.h"

namespace penstock {
namespace {

using nlohmann::json;
using test::one_f_one_b;
using ::testing::HasSubstr;
using ::testing::Not;

// The data that the page embeds.
json data_of(const std::string& html) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t from = html.find(open) + open.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from));
}

std::string page(const Timeline& timeline) {
  return report_html({.title = "t", .timelines = {timeline}, .losses = {}, .facts = {}});
}

TEST(Html, HoldsEveryOpOfASmallTimeline) {
  const Timeline timeline = one_f_one_b();
  const json data = data_of(page(timeline))["timelines"][0];
  ASSERT_EQ(data["spans"]["start"].size(), timeline.spans.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    EXPECT_EQ(data["spans"]["start"][i], timeline.spans[i].start);
    EXPECT_EQ(data["spans"]["end"][i], timeline.spans[i].end);
    EXPECT_EQ(data["spans"]["actor"][i], timeline.spans[i].actor);
  }
  EXPECT_EQ(data["transfers"]["producer"].size(), timeline.transfers.size());
  EXPECT_EQ(data["report"]["makespan_s"], report_json(timeline, measure(timeline))["makespan_s"]);
}

TEST(Html, TellsRoutesApart) {
  Timeline timeline = one_f_one_b();
  EXPECT_EQ(data_of(page(timeline))["timelines"][0]["routes"], json::array());
  timeline.stages[2].route = 1;
  EXPECT_EQ(data_of(page(timeline))["timelines"][0]["routes"], json({0, 0, 1, 0}));
}

TEST(Html, ComparesMeasuredWithPredictedWhateverTheirOrder) {
  const Timeline predicted = one_f_one_b();
  const Timeline measured = one_f_one_b({.jitter = 0.1, .source = TimelineSource::Measured});
  const json expected = json::parse(compare_json(measured, predicted).dump());
  for (const auto& pair : {std::vector{predicted, measured}, std::vector{measured, predicted}}) {
    const HtmlReport report{.title = "t", .timelines = pair, .losses = {}, .facts = {}};
    EXPECT_EQ(data_of(report_html(report))["comparison"], expected);
  }
  EXPECT_TRUE(data_of(page(predicted))["comparison"].is_null());
}

TEST(Html, SumsUpATimelineThatIsTooLargeToDraw) {
  const json data = data_of(page(one_f_one_b({.actors = 8, .microbatches = 2000})))["timelines"][0];
  EXPECT_FALSE(data.contains("spans"));
  ASSERT_EQ(data["activity"].size(), 8u);
  double mean = 0;
  for (const json& share : data["activity"][0]) mean += share.get<double>();
  mean /= static_cast<double>(data["activity"][0].size());
  EXPECT_NEAR(mean, 100 * data["report"]["actors"][0]["utilization"].get<double>(), 0.5);
  for (const json& samples : data["memory"]) EXPECT_LE(samples.size(), 600u);
}

TEST(Html, NamesCannotBecomeMarkup) {
  const std::string evil = "</script><script>alert(1)</script><!-- @SCRIPT@ & \xff";
  const HtmlReport report{.title = evil,
                          .timelines = {one_f_one_b({.name = evil})},
                          .losses = {},
                          .facts = {{evil, evil}}};
  const std::string html = report_html(report);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;alert(1)"));
  const json data = data_of(html);
  EXPECT_EQ(data["title"], "</script><script>alert(1)</script><!-- @SCRIPT@ & \xEF\xBF\xBD");
  EXPECT_EQ(data["facts"][0][1], data["title"]);
}

TEST(Html, ALossThatIsNoNumberIsNull) {
  const HtmlReport report{
      .title = "t", .timelines = {}, .losses = {5.5, std::nan(""), 5.25}, .facts = {}};
  EXPECT_EQ(data_of(report_html(report))["losses"].dump(), "[5.5,null,5.25]");
}

TEST(Html, LoadsNothingFromElsewhere) {
  const std::string html = page(one_f_one_b());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* way : {"<link rel=\"stylesheet", "<script src", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(way)));
  }
}

TEST(Html, AnEmptyTimelineMakesAPage) {
  Timeline nothing;
  nothing.name = "empty";
  nothing.actors = 2;
  nothing.microbatches = 1;
  EXPECT_THAT(page(nothing), HasSubstr("</html>"));
}

}  // namespace
}  // namespace penstock
