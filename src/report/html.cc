#include <array>
#include <string_view>
#include <utility>

#include "penstock/report.h"
#include "report/assets.h"
#include "report/markup.h"
#include "report/page_data.h"

namespace penstock {
std::string report_html(const HtmlReport& report) {
  const std::string title = escaped(report.title);
  const std::string data = page_data(report);
  const std::array<std::pair<std::string_view, std::string_view>, 5> parts = {{
      {"@TITLE@", title},
      {"@STYLE@", assets::style_css},
      {"@DATA@", data},
      {"@CHART@", assets::chart_js},
      {"@SCRIPT@", assets::script_js},
  }};
  // The parts are in the order of the page and each is put in once: what they hold (a user's
  // "@DATA@" too) is never looked at again.
  std::string out;
  std::string_view page = assets::page_html;
  for (const auto& [mark, content] : parts) {
    const std::size_t at = page.find(mark);
    out += page.substr(0, at);
    out += content;
    page.remove_prefix(at + mark.size());
  }
  out += page;
  return out;
}

}  // namespace penstock
