/* The C library makes the block for a line larger, and moves what it has read of it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

__attribute__((no_sanitize("thread"))) int main(void) {
    static char text[2000];
    for (int i = 0; i < 1999; i++) text[i] = i == 50 || i == 1998 ? '\n' : 'a';
    FILE *file = fmemopen(text, 1999, "r");
    char *line = NULL;
    size_t room = 0;
    long first = getline(&line, &room, file), second = getline(&line, &room, file);
    free(line);
    fclose(file);
    return first == 51 && second == 1948 ? 0 : 1;
}
