/* Each thread calculates with functions of libm, which set its own errno, and prints what comes of it by vfprintf. */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double sum;

static void say(const char *format, ...) {
    va_list words;
    va_start(words, format);
    vfprintf(stderr, format, words);
    va_end(words);
}

static void *add(void *of) {
    volatile double x = *(double *)of;
    if (x < 0)
        fesetround(FE_DOWNWARD);
    double result = exp(sin(x)) + pow(fabs(x), 0.5) + lround(x) + floor(cosf(x));
    errno = 0;
    double nothing = log(x - fabs(x) - 1);
    if (!isnan(nothing) || errno != EDOM)
        abort();
    if (fegetround() != (x < 0 ? FE_DOWNWARD : FE_TONEAREST))
        abort();
    pthread_mutex_lock(&lock);
    sum += result;
    pthread_mutex_unlock(&lock);
    say("%s\n", result > 0 ? "above" : "below");
    return 0;
}

int main(void) {
    double of[2] = {0.5, -7};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, add, &of[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return sum == 0;
}
