#include "penstock/split.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace penstock {
namespace {

constexpr std::int32_t kMostStages = 10'000;
constexpr std::size_t kMostSymbols = 1'000'000;  // bounds what nested repeats unroll to
constexpr int kDeepest = 100;
constexpr std::string_view kLayoutHint =
    "E embedding, t transformer layer, m multi-token prediction, L loss, | next stage, x*3 or "
    "(tt|)*3 repeats";

// 'E', 't', 'm', 'L' or '|' and where in the text it comes from.
struct Symbol {
  char letter;
  std::size_t column;
};

// Unrolls the repeats of a layout string. Reports and goes on, to find every fault.
class LayoutParser {
 public:
  LayoutParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  std::vector<Symbol> parse() {
    std::vector<Symbol> symbols = sequence(0);
    while (at_ < text_.size()) {
      fault(at_++, "unmatched ')'");
      sequence(0);
    }
    return symbols;
  }

  void fault(std::size_t at, std::string what, std::string_view hint = {}) {
    problems_.push_back(
        {fmt::format("{}, column {}", where_, at + 1), std::move(what), std::string(hint)});
  }

  const std::vector<Problem>& problems() const { return problems_; }

 private:
  // Up to the end of the text or to a ')', which is left.
  std::vector<Symbol> sequence(int depth) {
    std::vector<Symbol> symbols;
    while (at_ < text_.size() && text_[at_] != ')') {
      const std::size_t start = at_;
      const std::vector<Symbol> element = element_at(depth);
      const std::size_t times = repeats();
      if (element.empty()) continue;
      if (times * element.size() > kMostSymbols - symbols.size()) {
        fault(start, fmt::format("repeats to more than {} layers and stages", kMostSymbols));
        at_ = text_.size();  // each further group would be unrolled, too
        too_long_ = true;
        return {};
      }
      for (std::size_t i = 0; i < times; ++i) {
        symbols.insert(symbols.end(), element.begin(), element.end());
      }
    }
    return symbols;
  }

  std::vector<Symbol> element_at(int depth) {
    const std::size_t start = at_++;
    const char letter = text_[start];
    if (letter == '(') return group(start, depth);
    if (std::string_view("EtmL|").find(letter) != std::string_view::npos) {
      return {{letter, start}};
    }
    if (letter != ',' && letter != ' ') {
      const bool shown = letter > ' ' && letter < '\x7f';
      fault(start, fmt::format("unknown letter '{}'", shown ? letter : '?'), kLayoutHint);
    }
    return {};
  }

  std::vector<Symbol> group(std::size_t start, int depth) {
    if (depth == kDeepest) {
      fault(start, fmt::format("nested deeper than {} levels", kDeepest));
      at_ = text_.size();
      return {};
    }
    std::vector<Symbol> symbols = sequence(depth + 1);
    if (too_long_) return {};
    if (at_ == text_.size()) {
      fault(start, "'(' without ')'");
    } else {
      ++at_;
    }
    return symbols;
  }

  // The number behind a '*', at most kMostSymbols + 1; 1 when there is none.
  std::size_t repeats() {
    if (at_ == text_.size() || text_[at_] != '*') return 1;
    const std::size_t star = at_++;
    std::size_t times = 0;
    const std::size_t digits = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      times = std::min(times * 10 + static_cast<std::size_t>(text_[at_] - '0'), kMostSymbols + 1);
    }
    if (at_ == digits || times == 0) {
      fault(star, "'*' needs a number of times, 1 or more");
      return 1;
    }
    return times;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  bool too_long_ = false;
  std::vector<Problem> problems_;
};

// E opens the first stage, L closes the last, each once.
void check_ends(const std::vector<Symbol>& symbols, LayoutParser& parser) {
  const auto check = [&](char letter, std::size_t place, const char* name) {
    if (symbols.empty() || symbols[place].letter != letter) {
      parser.fault(symbols.empty() ? 0 : symbols[place].column,
                   fmt::format("the {} has to be {}", name, letter), kLayoutHint);
    }
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (i == place || symbols[i].letter != letter) continue;
      parser.fault(symbols[i].column, fmt::format("{} may only be the {}", letter, name));
      break;
    }
  };
  check('E', 0, "first block");
  check('L', symbols.empty() ? 0 : symbols.size() - 1, "last block");
}

// All layers stand in front of the prediction modules, and there are as many as the model has.
void check_numbers(const std::vector<Symbol>& symbols, const Model& model, LayoutParser& parser) {
  std::int32_t layers = 0;
  std::int32_t predictions = 0;
  bool mixed = false;
  for (const Symbol& symbol : symbols) {
    if (symbol.letter == 'm') ++predictions;
    if (symbol.letter != 't') continue;
    ++layers;
    if (predictions > 0 && !mixed) parser.fault(symbol.column, "a layer behind 'm'");
    mixed = mixed || predictions > 0;
  }
  if (layers != model.layers) {
    parser.fault(0, fmt::format("{} transformer layers; the model has {}", layers, model.layers));
  }
  if (predictions != model.mtp_depth) {
    parser.fault(0, fmt::format("{} multi-token prediction modules (m); the model has {}",
                                predictions, model.mtp_depth));
  }
}

}  // namespace

Split even_split(const Model& model, std::int32_t parts, const std::string& where) {
  if (parts < 1) throw Error(where, fmt::format("{} parts", parts), "at least 1");
  if (parts > model.layers) {
    throw Error(where, fmt::format("{} parts for {} layers", parts, model.layers),
                "fewer stages, or a layout with empty ones: \"Et||tL\"");
  }
  Split split;
  split.first.push_back(0);
  std::int32_t block = 1;
  for (std::int32_t part = 0; part + 1 < parts; ++part) {
    block += model.layers / parts + (part < model.layers % parts ? 1 : 0);
    split.first.push_back(block);
  }
  split.first.push_back(model.blocks());
  return split;
}

Split parse_layout(std::string_view text, const Model& model, const std::string& where) {
  LayoutParser parser(text, where);
  const std::vector<Symbol> symbols = parser.parse();
  if (!parser.problems().empty()) throw Error(parser.problems());
  Split split;
  split.first.push_back(0);
  std::int32_t blocks = 0;
  for (const Symbol& symbol : symbols) {
    if (symbol.letter == '|') {
      split.first.push_back(blocks);
    } else {
      ++blocks;
    }
  }
  split.first.push_back(blocks);
  check_ends(symbols, parser);
  check_numbers(symbols, model, parser);
  if (split.parts() > kMostStages) {
    parser.fault(0, fmt::format("{} stages; at most {} are allowed", split.parts(), kMostStages));
  }
  if (!parser.problems().empty()) throw Error(parser.problems());
  return split;
}

namespace {

// A letter three times and more as "t*3".
std::string repeated(char letter, std::int32_t times) {
  return times < 3 ? std::string(static_cast<std::size_t>(times), letter)
                   : fmt::format("{}*{}", letter, times);
}

// The stage and the '|' behind it, if any.
std::string stage_text(const Split& split, std::int32_t part, std::int32_t mtp_depth) {
  const bool is_last = part + 1 == split.parts();
  const std::int32_t begin = split.first[static_cast<std::size_t>(part)];
  const std::int32_t end = split.first[static_cast<std::size_t>(part) + 1];
  const std::int32_t head = split.first.back() - 1;
  const std::int32_t first_prediction = head - mtp_depth;
  const auto blocks_in = [&](std::int32_t from, std::int32_t to) {
    return std::max(0, std::min(end, to) - std::max(begin, from));
  };
  std::string text = blocks_in(0, 1) > 0 ? "E" : "";
  text += repeated('t', blocks_in(1, first_prediction));
  text += repeated('m', blocks_in(first_prediction, head));
  if (blocks_in(head, head + 1) > 0) text += 'L';
  return is_last ? text : text + '|';
}

}  // namespace

std::string write_layout(const Split& split, std::int32_t mtp_depth) {
  assert(split.parts() >= 1 && "a split has a part");
  std::string text;
  for (std::int32_t part = 0; part < split.parts();) {
    const std::string stage = stage_text(split, part, mtp_depth);
    std::int32_t times = 1;
    while (part + times < split.parts() && stage_text(split, part + times, mtp_depth) == stage)
      ++times;
    const std::string group = stage.size() == 1 ? fmt::format("{}*{}", stage, times)
                                                : fmt::format("({})*{}", stage, times);
    if (group.size() < stage.size() * static_cast<std::size_t>(times)) {
      text += group;
    } else {
      for (std::int32_t i = 0; i < times; ++i) text += stage;
    }
    part += times;
  }
  return text;
}

}  // namespace penstock
