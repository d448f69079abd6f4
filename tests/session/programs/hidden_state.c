/* Which word each thread gets depends on the order of the calls: strtok keeps its place, where nothing is recorded. */
#include <pthread.h>
#include <string.h>

static char text[] = "a b c";
static char *words[2];

static void *next(void *word) {
    *(char **)word = strtok(0, " ");
    return 0;
}

int main(void) {
    pthread_t t[2];
    strtok(text, " ");
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, next, &words[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return words[0] > words[1];
}
