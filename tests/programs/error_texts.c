/* strerror_r writes the text of an error that it does not know where it is told to, and POSIX's any text; GNU's returns its
 * own of an error that it knows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>

extern int __xpg_strerror_r(int, char *, size_t);

static char unknown[100], known[100], posix[100];

static void *asks(void *unused)
{
    strerror_r(-1, unknown, sizeof unknown); /* @unknown */
    strerror_r(ERANGE, known, sizeof known); /* @known */
    __xpg_strerror_r(ERANGE, posix, sizeof posix); /* @posix */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, asks, NULL);
    unknown[0] = 'u'; /* @begins */
    known[0] = 'k'; /* @begins_too */
    posix[0] = 'p'; /* @begins_last */
    pthread_join(thread, NULL);
    return known[0] != 'k';
}
