/* SPDX-License-Identifier: BSD-3-Clause */
/* A small tool itself: it asks by the functions that any other would call. */
#include "info/info_mpit.h"

#include "mpi.h"

#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = 128, HELP_ROOM = 512, MEMBERS_MOST = 512 };

typedef struct mpit_word {
    int value;
    const char *text;
} mpit_word_t;

static const mpit_word_t classes[] = {{MPI_T_PVAR_CLASS_STATE, "state"},
                                      {MPI_T_PVAR_CLASS_LEVEL, "level"},
                                      {MPI_T_PVAR_CLASS_SIZE, "size"},
                                      {MPI_T_PVAR_CLASS_PERCENTAGE, "percentage"},
                                      {MPI_T_PVAR_CLASS_HIGHWATERMARK, "high-water mark"},
                                      {MPI_T_PVAR_CLASS_LOWWATERMARK, "low-water mark"},
                                      {MPI_T_PVAR_CLASS_COUNTER, "counter"},
                                      {MPI_T_PVAR_CLASS_AGGREGATE, "aggregate"},
                                      {MPI_T_PVAR_CLASS_TIMER, "timer"},
                                      {MPI_T_PVAR_CLASS_GENERIC, "generic"},
                                      {0, NULL}};

static const mpit_word_t scopes[] = {{MPI_T_SCOPE_CONSTANT, "cannot be set by a rank"},
                                     {MPI_T_SCOPE_LOCAL, "each rank as it likes"},
                                     {MPI_T_SCOPE_ALL_EQ, "alike on all ranks"},
                                     {0, NULL}};

static const char *text_for(const mpit_word_t *words, int value)
{
    while (words->text != NULL && words->value != value)
        words++;
    return words->text == NULL ? "?" : words->text;
}

static const char *name_of_type(MPI_Datatype type)
{
    if (type == MPI_CHAR)
        return "text";
    if (type == MPI_INT)
        return "int";
    if (type == MPI_DOUBLE)
        return "double";
    return type == MPI_UNSIGNED_LONG ? "unsigned long" : "unsigned long long";
}

static const char *bound_to(int bind)
{
    return bind == MPI_T_BIND_MPI_COMM ? ", of a communicator" : "";
}

/* " {no, yes}", or nothing. */
static void print_enum(MPI_T_enum names)
{
    int items = 0;
    if (names == MPI_T_ENUM_NULL || MPI_T_enum_get_info(names, &items, NULL, NULL) != MPI_SUCCESS)
        return;
    for (int i = 0; i < items; i++) {
        char item[NAME_ROOM];
        int room = sizeof(item), value;
        MPI_T_enum_get_item(names, i, &value, item, &room);
        printf("%s%s", i == 0 ? " {" : ", ", item);
    }
    printf("}");
}

static void print_cvar(int index)
{
    char name[NAME_ROOM], help[HELP_ROOM];
    int name_room = sizeof(name), help_room = sizeof(help), scope;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_get_info(index, name, &name_room, NULL, &type, &names, help, &help_room, NULL,
                        &scope);
    printf("  %s: %s", name, name_of_type(type));
    print_enum(names);
    printf(", %s\n      %s\n", text_for(scopes, scope), help);
}

static void print_pvar(int index)
{
    char name[NAME_ROOM], help[HELP_ROOM];
    int name_room = sizeof(name), help_room = sizeof(help), its_class, bind, is_continuous;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_pvar_get_info(index, name, &name_room, NULL, &its_class, &type, &names, help, &help_room,
                        &bind, NULL, &is_continuous, NULL);
    printf("  %s: %s, %s", name, text_for(classes, its_class), name_of_type(type));
    print_enum(names);
    printf("%s%s\n      %s\n", bound_to(bind), is_continuous ? ", continuous, readonly" : "", help);
}

static void print_event(int index)
{
    enum { ELEMENTS_MOST = 32 };
    char name[NAME_ROOM], help[HELP_ROOM];
    int name_room = sizeof(name), help_room = sizeof(help), bind, elements = ELEMENTS_MOST;
    MPI_Datatype types[ELEMENTS_MOST];
    MPI_T_enum names;
    MPI_T_event_get_info(index, name, &name_room, NULL, types, NULL, &elements, &names, NULL, help,
                         &help_room, &bind);
    printf("  %s%s:", name, bound_to(bind));
    for (int i = 0; i < elements && i < ELEMENTS_MOST; i++) {
        char element[NAME_ROOM];
        int room = sizeof(element), value;
        MPI_T_enum_get_item(names, i, &value, element, &room);
        printf("%s %s %s", i == 0 ? "" : ",", name_of_type(types[i]), element);
    }
    printf("\n      %s\n", help);
}

typedef struct section {
    const char *title;
    int (*members)(int category, int room, int indices[]);
    void (*print)(int index);
} section_t;

static const section_t sections[] = {
    {"Control variables", MPI_T_category_get_cvars, print_cvar},
    {"Performance variables", MPI_T_category_get_pvars, print_pvar},
    {"Events", MPI_T_category_get_events, print_event},
};

static void count_category(int category, int counts[3])
{
    MPI_T_category_get_info(category, NULL, NULL, NULL, NULL, &counts[0], &counts[1], NULL);
    MPI_T_category_get_num_events(category, &counts[2]);
}

static void print_category(int category)
{
    int counts[3], indices[MEMBERS_MOST];
    char name[NAME_ROOM], help[HELP_ROOM];
    int name_room = sizeof(name), help_room = sizeof(help);
    MPI_T_category_get_info(category, name, &name_room, help, &help_room, NULL, NULL, NULL);
    printf("\n== %s: %s\n", name, help);
    count_category(category, counts);
    for (int s = 0; s < 3; s++) {
        if (counts[s] == 0)
            continue;
        printf("\n%s of %s:\n", sections[s].title, name);
        sections[s].members(category, MEMBERS_MOST, indices);
        for (int i = 0; i < counts[s] && i < MEMBERS_MOST; i++)
            sections[s].print(indices[i]);
    }
}

/* The tree, which has its root in front. */
static void print_tree(int category, int depth)
{
    int counts[3], children = 0, indices[MEMBERS_MOST];
    char name[NAME_ROOM];
    int name_room = sizeof(name);
    MPI_T_category_get_info(category, name, &name_room, NULL, NULL, NULL, NULL, &children);
    count_category(category, counts);
    printf("  %*s%-*s %4d %4d %4d\n", 2 * depth, "", 20 - 2 * depth, name, counts[0], counts[1],
           counts[2]);
    MPI_T_category_get_categories(category, MEMBERS_MOST, indices);
    for (int i = 0; i < children && i < MEMBERS_MOST; i++)
        print_tree(indices[i], depth + 1);
}

int weft_info_mpit(int count, char **words)
{
    int provided, categories = 0;
    (void)words;
    if (count > 0) {
        fprintf(stderr, "weft_info: --mpit takes no further words\n");
        return 2;
    }
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        fprintf(stderr, "weft_info: no memory for the tool information interface\n");
        return 1;
    }
    printf("Categories, with how many control variables, performance variables and events:\n");
    print_tree(0, 0);
    MPI_T_category_get_num(&categories);
    for (int i = 0; i < categories; i++)
        print_category(i);
    MPI_T_finalize();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
