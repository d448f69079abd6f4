// Two threads take turns with blocks that functions of the C library fill in: what nobody recorded would pin all that
// they look at.
#define _GNU_SOURCE
#include <assert.h>
#include <ifaddrs.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <iconv.h>

enum { ROUNDS = 6 };

struct filled {
    struct addrinfo *addresses;
    struct passwd user;
    char room[1024];
    wchar_t wide[16];
    char text[16];
    double whole, sine, cosine;
    int exponent;
    char date[32];
    struct statvfs files;
    regmatch_t places[2];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static struct filled *now;
static int turn;
static long sum;

static void fill(void) {
    struct filled *it = malloc(sizeof *it);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    assert(getaddrinfo("127.0.0.1", "80", &hints, &it->addresses) == 0);
    struct passwd *user;
    assert(getpwuid_r(0, &it->user, it->room, sizeof it->room, &user) == 0 && user);
    assert(mbstowcs(it->wide, "wide", 16) == 4);
    iconv_t to = iconv_open("UTF-8", "ISO-8859-1");
    char *from = strdup("text"), *in = from, *out = it->text;
    size_t left = 5, room = 16;
    assert(iconv(to, &in, &left, &out, &room) == 0 && left == 0);
    iconv_close(to);
    free(from);
    modf(3.5, &it->whole);
    sincos(1, &it->sine, &it->cosine);
    frexp(8, &it->exponent);
    time_t second = 0;
    ctime_r(&second, it->date);
    assert(statvfs("/", &it->files) == 0);
    regex_t expression;
    assert(regcomp(&expression, "a(b*)", REG_EXTENDED) == 0 && regexec(&expression, "xabb", 2, it->places, 0) == 0);
    regfree(&expression);
    now = it;
}

static void look(void) {
    struct filled *it = now;
    assert(((struct sockaddr_in *)it->addresses->ai_addr)->sin_family == AF_INET && !it->addresses->ai_next);
    assert(!strcmp(it->user.pw_name, "root") && it->user.pw_uid == 0);
    assert(it->wide[3] == 'e' && it->wide[4] == 0 && it->text[3] == 't' && it->text[4] == 0);
    assert(it->whole == 3 && it->exponent == 4 && it->sine > it->cosine);
    assert(it->date[23] == '0' && it->date[25] == 0 && it->files.f_bsize > 0 && it->places[1].rm_so == 2);
    sum += it->files.f_namemax;
    freeaddrinfo(it->addresses);
    free(it);
}

static void *work(void *self) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        while (turn % 2 != (long)self)
            pthread_cond_wait(&turned, &lock);
        if (now)
            look();
        fill();
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long self = 0; self < 2; self++)
        pthread_create(&threads[self], 0, work, (void *)self);
    for (int self = 0; self < 2; self++)
        pthread_join(threads[self], 0);
    look();
    return sum == 0;
}
