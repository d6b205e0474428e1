// File: integer_programme.h. A linear objective and rows over continuous and binary variables,
// solved by CBC.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace penstock {

class IntegerProgramme {
 public:
  struct Term {
    std::int32_t variable = 0;
    double factor = 0;
  };
  struct Answer {
    bool infeasible = false;       // proven
    std::optional<double> bound;   // no solution's objective is below; absent: none was found
    std::vector<double> solution;  // the best found, by variable; empty: none
  };

  std::int32_t add_continuous(double lower, double upper);
  std::int32_t add_binary();
  // The sum of the terms is at least `least`.
  void add_row(std::vector<Term> terms, double least);

  // Minimises `variable`. Gives up after `nodes` of the search tree, never by the clock: the same
  // programme gives the same answer. Prints nothing. Thread-safe: one is solved at a time.
  Answer minimise(std::int32_t variable, std::int32_t nodes) const;

 private:
  struct Row {
    std::vector<Term> terms;
    double least = 0;
  };
  struct Variable {
    double lower = 0;
    double upper = 0;
    bool binary = false;
  };

  std::vector<Variable> variables_;
  std::vector<Row> rows_;
};

}  // namespace penstock
