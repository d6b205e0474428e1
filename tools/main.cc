#include <cstdio>

int main() {
  std::puts("penstock");
  return 0;
}
