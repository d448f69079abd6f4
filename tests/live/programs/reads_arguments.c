// Compares its arguments in two threads. Where they lie depends on the length of the environment, and with that in
// which pieces a comparison reads them.
#include <pthread.h>
#include <string.h>

static char **words;
static int found;

static void *look(void *word) {
    for (char **at = words; *at; at++)
        if (strcmp(*at, word) == 0 || strlen(*at) == 40)
            found++;
    return 0;
}

int main(int count, char **arguments) {
    (void)count;
    words = arguments;
    pthread_t one, other;
    pthread_create(&one, 0, look, "--nothing-like-the-second-argument");
    pthread_create(&other, 0, look, "--second-argument");
    pthread_join(one, 0);
    pthread_join(other, 0);
    return found == 1 ? 0 : 1;
}
