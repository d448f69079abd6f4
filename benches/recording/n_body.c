/* Bodies that attract one another; four threads with a part each, two barriers a step. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { BODIES = 256, STEPS = 60, THREADS = 4 };

struct body {
    double x[3], v[3], mass;
};

static struct body bodies[BODIES];
static pthread_barrier_t barrier;

static void *work(void *number) {
    size_t part = BODIES / THREADS, from = part * (size_t)number;
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = from; i < from + part; i++)
            for (size_t j = 0; j < BODIES; j++) {
                double d[3], square = 0.01;
                for (int k = 0; k < 3; k++) {
                    d[k] = bodies[j].x[k] - bodies[i].x[k];
                    square += d[k] * d[k];
                }
                double pull = 0.001 * bodies[j].mass / (square * sqrt(square));
                for (int k = 0; k < 3; k++)
                    bodies[i].v[k] += d[k] * pull;
            }
        pthread_barrier_wait(&barrier);
        for (size_t i = from; i < from + part; i++)
            for (int k = 0; k < 3; k++)
                bodies[i].x[k] += 0.001 * bodies[i].v[k];
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    for (size_t i = 0; i < BODIES; i++)
        bodies[i] = (struct body){{sin(i), cos(i * 3), sin(i * 7)}, {0}, 1 + i % 3};
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%f\n", bodies[0].x[0]);
}
