// Lists, trees, hash tables and strings that two threads change in turn, in all ways in which libstdc++ itself does so.
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <unordered_map>

using Tree = std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>>;

static std::mutex lock;
static Tree tree;
static std::list<int> list, other;
static std::map<int, std::string> names;
static std::unordered_map<int, int> counts, few;
static std::string text;
static bool failed;

static void check(bool holds)
{
    if (!holds)
        failed = true;
}

static void change_tree(unsigned &seed, std::set<int> &mine, int thread)
{
    int key = 2 * (rand_r(&seed) % 40) + thread;
    if (rand_r(&seed) % 2 == 0) {
        tree._M_insert_unique(key);
        mine.insert(key);
    } else {
        check(tree.erase(key) == mine.erase(key));
    }
    check(tree.__rb_verify());
    size_t found = 0;
    int last = -1;
    for (int key : tree) {
        check(key > last);
        last = key;
        found += key % 2 == thread && mine.count(key);
    }
    check(found == mine.size());
    for (auto key = tree.rbegin(); key != tree.rend(); ++key) {
        check(*key == last);
        auto before = std::next(key);
        last = before == tree.rend() ? last : *before;
    }
}

static void change_list(unsigned &seed)
{
    int number = rand_r(&seed) % 100;
    list.push_back(number);
    other.push_front(number);
    switch (rand_r(&seed) % 6) {
    case 0:
        list.reverse();
        break;
    case 1:
        list.swap(other);
        break;
    case 2:
        list.splice(list.begin(), other);
        break;
    case 3:
        other.splice(other.end(), list, list.begin());
        break;
    case 4:
        list.splice(list.end(), list, list.begin());
        break;
    default:
        if (list.size() > 3)
            list.erase(std::next(list.begin()));
    }
    size_t forwards = 0, backwards = 0;
    for (auto node = list.begin(); node != list.end(); ++node)
        forwards++;
    for (auto node = list.rbegin(); node != list.rend(); ++node)
        backwards++;
    check(forwards == list.size() && backwards == forwards);
}

static void change_text(unsigned &seed)
{
    std::string copy = text, model = text;
    size_t at = text.empty() ? 0 : rand_r(&seed) % text.size();
    switch (rand_r(&seed) % 20) {
    case 0:
        text += "some more characters";
        model = copy + "some more characters";
        break;
    case 1:
        text.push_back('x');
        model.insert(model.end(), 'x');
        break;
    case 2:
        text.insert(at, "in");
        check(text.substr(at, 2) == "in" && text.size() == copy.size() + 2);
        model = text;
        break;
    case 3:
        text.erase(at, 3);
        check(text.size() + 3 >= copy.size());
        model = text;
        break;
    case 4:
        text.replace(at, 2, "replaced");
        check(text.compare(at, 8, "replaced") == 0);
        model = text;
        break;
    case 5:
        text = "short";
        model = std::string(1, 's') + "hort";
        break;
    case 6:
        text.assign(30, 'y');
        check(text.size() == 30 && text[29] == 'y');
        model = text;
        break;
    case 7: {
        std::string moved = std::move(text);
        check(text.empty() && moved == copy);
        text = std::move(moved);
        break;
    }
    case 8: {
        std::string another("of another length, which is long");
        text.swap(another);
        check(another == copy && text.size() == 32);
        model = text;
        break;
    }
    case 9:
        text.resize(5 + at, 'z');
        model = text;
        break;
    case 10:
        text.reserve(100);
        break;
    case 11:
        text.shrink_to_fit();
        break;
    case 12:
        text.append(copy, 0, 4);
        model += copy.substr(0, 4);
        break;
    case 13:
        text.clear();
        model.clear();
        break;
    case 14:
        text.append(3, '.');
        text.insert(0, 2, '-');
        model = "--" + model + "...";
        break;
    case 15:
        text.replace(text.begin(), text.begin() + at, "by places");
        model = "by places" + copy.substr(at);
        break;
    case 16:
        text.insert(text.begin() + at, 'q');
        if (!copy.empty())
            text.erase(text.begin());
        check(text.size() == copy.size() + copy.empty());
        model = text;
        break;
    case 17:
        text.append({'a', 'b'});
        model = copy + "ab";
        break;
    case 18: {
        std::string part(text, at), whole(text.begin(), text.end());
        char taken[8] = "";
        text.copy(taken, 7, at);
        check(whole == text && part == text.substr(at) && part.compare(0, 7, taken) == 0);
        break;
    }
    default:
        if (!text.empty()) {
            text.pop_back();
            model.erase(model.size() - 1);
        }
    }
    check(text == model);
    size_t zeros = 0;
    for (char one : text)
        zeros += one == 0;
    check(zeros == 0 && text.c_str()[text.size()] == 0);
    if (text.size() > 60)
        text = copy.substr(0, 7);
}

static void *work(void *given)
{
    int thread = given != nullptr;
    unsigned seed = thread + 1;
    // Not on the stack, whose address its nodes would hold.
    static std::set<int> known[2];
    std::set<int> &mine = known[thread];
    for (int round = 0; round < 40; round++) {
        std::lock_guard<std::mutex> guard(lock);
        change_tree(seed, mine, thread);
        change_list(seed);
        change_text(seed);
        for (int number = 0; number < 5; number++)
            counts[rand_r(&seed) % 200]++;
        if (round % 16 == 15) {
            counts.clear();
            counts.rehash(7);
        }
        few = counts;
        few.reserve(100);
        check(few.size() == counts.size());
        names[round] += text;
        if (round % 3 == 0)
            names.erase(round / 2);
    }
    return nullptr;
}

int main()
{
    pthread_t threads[2];
    pthread_create(&threads[0], nullptr, work, nullptr);
    pthread_create(&threads[1], nullptr, work, &list);
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    size_t all = 0;
    for (auto &name : names)
        all += name.second.size();
    return failed || all == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
