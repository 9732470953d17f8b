/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cards of the driver, their sensors, and their nodes in the KFD's topology. */
#include "collector-lib/sample/amdgpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/sample/sysfs.h"

#define CARDS_MAX   256u
#define SENSORS_MAX 8
#define NAME_BYTES  128
#define HWMON_BYTES 264 /* a name of a directory, and what it is in */

/* The number N of prefixN_label that says \p label; -1 = none. */
static int find_sensor(int hwmon_fd, const char *prefix, const char *label)
{
    for (int i = 0; i <= SENSORS_MAX; i++) {
        char name[NAME_BYTES];
        char text[32];
        snprintf(name, sizeof name, "%s%d_label", prefix, i);
        if (sysfs_text(hwmon_fd, name, text, sizeof text) && strcmp(text, label) == 0) {
            return i;
        }
    }
    return -1;
}

/* Finds the directory of the card's sensors in \p dir_fd. */
static bool find_hwmon(int dir_fd, char out[HWMON_BYTES])
{
    struct own_fd own;
    DIR *dir = own_fd_read_dir(&own, sysfs_dir(dir_fd, "hwmon"));
    out[0] = '\0';
    if (!dir) {
        return false;
    }
    for (struct dirent *e; !out[0] && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, "hwmon", strlen("hwmon")) == 0) {
            snprintf(out, HWMON_BYTES, "hwmon/%s", e->d_name);
        }
    }
    own_fd_end_dir(&own, dir);
    return out[0];
}

static void find_sensors(struct amdgpu_device *d)
{
    d->at = (struct amdgpu_sensors){
        .edge = find_sensor(d->hwmon.fd, "temp", "edge"),
        .junction = find_sensor(d->hwmon.fd, "temp", "junction"),
        .memory = find_sensor(d->hwmon.fd, "temp", "mem"),
        .vddgfx = find_sensor(d->hwmon.fd, "in", "vddgfx"),
        .sclk = find_sensor(d->hwmon.fd, "freq", "sclk"),
        .mclk = find_sensor(d->hwmon.fd, "freq", "mclk"),
    };
}

/* A card of this driver, by the uevent file: DRIVER=amdgpu, PCI_SLOT_NAME=…. */
static bool is_ours(struct amdgpu_device *d)
{
    char text[1024];
    bool ours = false;
    if (!sysfs_text(d->dir.fd, "uevent", text, sizeof text)) {
        return false;
    }
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        ours = ours || strcmp(line, "DRIVER=amdgpu") == 0;
        sscanf(line, "PCI_SLOT_NAME=%31s", d->slot);
    }
    return ours;
}

int amdgpu_slot(const char *slot, unsigned *domain, unsigned *location)
{
    unsigned bus;
    unsigned device;
    unsigned function;
    if (sscanf(slot, "%x:%x:%x.%x", domain, &bus, &device, &function) != 4) {
        return -1;
    }
    *location = bus << 8 | device << 3 | function;
    return 0;
}

/* The value of a property; the file has one "name value" line for each (documentation
 * of the KFD's topology). */
static int64_t property(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ' ') {
            return strtoll(line + len, NULL, 10);
        }
    }
    return -1;
}

static void take_node(struct amdgpu_device *d, const char *text)
{
    int64_t simds = property(text, "simd_count");
    int64_t simds_per_unit = property(text, "simd_per_cu");
    int64_t wave_size = property(text, "wave_front_size");
    d->gfx_version = (int)property(text, "gfx_target_version");
    d->compute_units =
        simds > 0 && simds_per_unit > 0 ? (int)(simds / simds_per_unit) : 0;
    d->wave_size = wave_size > 0 ? (int)wave_size : 0;
}

static void find_node(struct amdgpu_device *d, int nodes_fd)
{
    unsigned domain;
    unsigned location;
    if (amdgpu_slot(d->slot, &domain, &location) < 0) {
        return;
    }
    for (unsigned i = 0; i < CARDS_MAX; i++) {
        char name[NAME_BYTES];
        char text[4096];
        snprintf(name, sizeof name, "%u/properties", i);
        if (!sysfs_text(nodes_fd, name, text, sizeof text)) {
            return;
        }
        if (property(text, "gfx_target_version") > 0 &&
            property(text, "location_id") == location &&
            property(text, "domain") == domain) {
            take_node(d, text);
            return;
        }
    }
}

void amdgpu_close(struct amdgpu_device *device)
{
    own_fd_close(&device->hwmon);
    own_fd_close(&device->dir);
}

static void card_name(char out[NAME_BYTES], unsigned number)
{
    snprintf(out, NAME_BYTES, "class/drm/card%u/device", number);
}

void amdgpu_mend(struct amdgpu_device *d)
{
    if (!own_fd_is_ours(&d->dir)) {
        char name[NAME_BYTES];
        struct own_fd root;
        card_name(name, d->number);
        if (own_fd_take_briefly(&root, sysfs_dir(AT_FDCWD, d->sysfs))) {
            own_fd_reopen(&d->dir, root.fd, name, O_RDONLY | O_DIRECTORY);
        }
        own_fd_close(&root);
    }
    char hwmon[HWMON_BYTES];
    if (d->has_sensors && own_fd_is_ours(&d->dir) && !own_fd_is_ours(&d->hwmon) &&
        find_hwmon(d->dir.fd, hwmon)) {
        own_fd_reopen(&d->hwmon, d->dir.fd, hwmon, O_RDONLY | O_DIRECTORY);
    }
}

/* Opens card \p number into \p d. \return false if there is none, or another driver has
 * it. */
static bool open_card(int root_fd, int nodes_fd, unsigned number, struct amdgpu_device *d)
{
    char name[NAME_BYTES];
    card_name(name, number);
    *d = (struct amdgpu_device){.number = number, .hwmon = OWN_FD_NONE};
    if (!own_fd_take(&d->dir, sysfs_dir(root_fd, name))) {
        return false;
    }
    if (!is_ours(d)) {
        own_fd_close(&d->dir);
        return false;
    }
    char hwmon[HWMON_BYTES];
    d->has_sensors = find_hwmon(d->dir.fd, hwmon) &&
                     own_fd_take(&d->hwmon, sysfs_dir(d->dir.fd, hwmon));
    find_sensors(d);
    find_node(d, nodes_fd);
    return true;
}

unsigned amdgpu_find(const char *sysfs, struct amdgpu_device *out, unsigned most)
{
    unsigned count = 0;
    struct own_fd root;
    struct own_fd nodes;
    if (!own_fd_take_briefly(&root, sysfs_dir(AT_FDCWD, sysfs))) {
        return 0;
    }
    own_fd_take_briefly(&nodes, sysfs_dir(root.fd, "class/kfd/kfd/topology/nodes"));
    for (unsigned i = 0; i < CARDS_MAX && count < most; i++) {
        if (open_card(root.fd, nodes.fd, i, &out[count])) {
            out[count++].sysfs = sysfs;
        }
    }
    own_fd_close(&nodes);
    own_fd_close(&root);
    return count;
}
