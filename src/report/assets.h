// File: assets.h. The report page's own files, embedded at build time (src/report/meson.build).
#pragma once

#include <string_view>

namespace penstock::assets {

extern const std::string_view page_html;  // the frame, with @TITLE@, @STYLE@, ... to fill
extern const std::string_view style_css;
extern const std::string_view script_js;  // every .js file of src/report/page, joined
extern const std::string_view chart_js;   // Chart.js, from Debian's libjs-chart.js

}  // namespace penstock::assets
