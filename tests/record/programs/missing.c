// Calls what a library had when the program was linked.
int wanted(void);

int main(void) { return wanted(); }
