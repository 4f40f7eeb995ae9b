// Linked statically, so that nothing can be put into it: `refrain doctor` has to say so.
int main() {
  return 0;
}
