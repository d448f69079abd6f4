// A library, of which one build lacks what a program wants.
int other(void) { return 1; }
#ifndef WITHOUT
int wanted(void) { return 0; }
#endif
