/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/host_facts.h"

#include "base/cpu.h"
#include "base/memory.h"
#include "base/network_interface.h"
#include "launch/loop/byte_queue.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The first line of a file, without its end; false: there is none. */
static bool read_line(const char *path, char *out, int bytes)
{
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fgets(out, bytes, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (is_read)
        out[strcspn(out, "\n")] = '\0';
    return is_read;
}

/* The value of the first line "name : value" of a file. */
static bool read_field(const char *path, const char *name, char *out, int bytes)
{
    char line[512];
    bool is_found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !is_found && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, name, strlen(name)) != 0 || colon == NULL)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, (size_t)bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
        is_found = true;
    }
    if (file != NULL)
        fclose(file);
    return is_found;
}

static int add_kernel(wl_variables_t *out)
{
    struct utsname system;
    char text[2 * sizeof(system.release)];
    if (uname(&system) != 0)
        return MPI_SUCCESS;
    snprintf(text, sizeof(text), "%s %s", system.sysname, system.release);
    int err = wl_variables_set(out, "kernel", text);
    return err == MPI_SUCCESS ? wl_variables_set(out, "architecture", system.machine) : err;
}

/* Count the entries of a folder that are `prefix` and a number. */
static int count_entries(const char *folder, const char *prefix)
{
    int count = 0;
    size_t length = strlen(prefix);
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        const char *rest = entry->d_name + length;
        count += strncmp(entry->d_name, prefix, length) == 0 && *rest != '\0' &&
                 strspn(rest, "0123456789") == strlen(rest);
    }
    if (entries != NULL)
        closedir(entries);
    return count;
}

/* A processor begins a socket, or a core, if no processor with a smaller number is of the same. */
static void count_cores(int processors, int *sockets_out, int *cores_out)
{
    int sockets = 0, cores = 0;
    for (int i = 0; i < processors; i++) {
        char path[128], package[32], siblings[256];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 i);
        if (read_line(path, package, sizeof(package)) && strtol(package, NULL, 10) + 1 > sockets)
            sockets = (int)strtol(package, NULL, 10) + 1;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 i);
        if (read_line(path, siblings, sizeof(siblings)) && strtol(siblings, NULL, 10) == i)
            cores++;
    }
    *sockets_out = sockets;
    *cores_out = cores;
}

static int add_processors(wl_variables_t *out)
{
    char text[512];
    int sockets, cores, processors = count_entries("/sys/devices/system/cpu", "cpu");
    int err = MPI_SUCCESS;
    weft_cpus_t allowed = weft_cpus_allowed();
    count_cores(processors, &sockets, &cores);
    if (read_field("/proc/cpuinfo", "model name", text, sizeof(text)))
        err = wl_variables_set(out, "processor", text);
    const struct {
        const char *name;
        long value;
    } numbers[] = {{"sockets", sockets},
                   {"cores", cores},
                   {"processors", processors},
                   {"processors_allowed", weft_cpus_count(&allowed)},
                   {"numa_nodes", count_entries("/sys/devices/system/node", "node")}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && err == MPI_SUCCESS; i++) {
        if (numbers[i].value > 0)
            err = wl_variables_set_number(out, numbers[i].name, numbers[i].value);
    }
    return err;
}

static int add_memory(wl_variables_t *out)
{
    char text[64];
    if (!read_field("/proc/meminfo", "MemTotal", text, sizeof(text)))
        return MPI_SUCCESS;
    return wl_variables_set_number(out, "memory_bytes", strtol(text, NULL, 10) * 1024);
}

/* Append "name", and ", " in front if it is not the first. */
static void append_item(wl_byte_queue_t *list, const char *name)
{
    if (wl_queue_bytes(list) > 0)
        wl_queue_append(list, ", ", 2);
    wl_queue_append(list, name, strlen(name));
}

static int add_list(wl_variables_t *out, const char *name, wl_byte_queue_t *list)
{
    int err = MPI_SUCCESS;
    if (wl_queue_bytes(list) > 0 && wl_queue_append(list, "", 1))
        err = wl_variables_set(out, name, wl_queue_front(list));
    wl_queue_release(list);
    return err;
}

static void append_interface(wl_byte_queue_t *list, const weft_interface_address_t *each)
{
    char text[128], speed[32] = "", address[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *place = (const struct sockaddr_in *)&each->address;
    int speed_mbit = weft_interface_look(each->name).speed_mbit;
    if (speed_mbit > 0)
        snprintf(speed, sizeof(speed), " %d Mbit/s", speed_mbit);
    inet_ntop(AF_INET, &place->sin_addr, address, sizeof(address));
    snprintf(text, sizeof(text), "%s %s%s", each->name, address, speed);
    append_item(list, text);
}

static int add_interfaces(wl_variables_t *out)
{
    weft_interface_address_t *all;
    size_t count;
    wl_byte_queue_t list = {0};
    if (weft_interface_addresses(&all, &count) != MPI_SUCCESS)
        return MPI_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        if (all[i].address.ss_family == AF_INET && all[i].is_up && !all[i].is_loopback)
            append_interface(&list, &all[i]);
    }
    weft_free(all);
    return add_list(out, "interfaces", &list);
}

static int add_fabric_devices(wl_variables_t *out)
{
    wl_byte_queue_t list = {0};
    DIR *folder = opendir("/sys/class/infiniband"); /* of EFA, too */
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.')
            append_item(&list, entry->d_name);
    }
    if (folder != NULL)
        closedir(folder);
    return add_list(out, "fabric_devices", &list);
}

static int add_gpus(wl_variables_t *out)
{
    static const char places[] = "/proc/driver/nvidia/gpus";
    char path[sizeof(places) + NAME_MAX + 16], text[256];
    wl_byte_queue_t list = {0};
    DIR *folder = opendir(places);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s/information", places, entry->d_name);
        if (entry->d_name[0] != '.' && read_field(path, "Model", text, sizeof(text)))
            append_item(&list, text);
    }
    if (folder != NULL)
        closedir(folder);
    int err = add_list(out, "gpus", &list);
    if (err == MPI_SUCCESS &&
        read_field("/proc/driver/nvidia/version", "NVRM version", text, sizeof(text)))
        err = wl_variables_set(out, "gpu_driver", text);
    return err;
}

int wl_host_facts_collect(wl_variables_t *out)
{
    static int (*const parts[])(wl_variables_t *) = {add_kernel,     add_processors,     add_memory,
                                                     add_interfaces, add_fabric_devices, add_gpus};
    int err = MPI_SUCCESS;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && err == MPI_SUCCESS; i++)
        err = parts[i](out);
    return err;
}
