/* SPDX-License-Identifier: BSD-3-Clause */
/* Sharing and mapping. The peer is this process under another rank, which it asks for descriptors:
 * those of virtual memory can be opened in the process that made them. test/mpi/cuda tests it
 * between processes. */
#include "cuda/cuda_mapping.h"

#include "runtime/fd_mail.h"
#include "runtime/progress.h"
#include "runtime/world.h"
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PEER = 1, BYTES = 2 << 20 };

/* The structure of cuda.h; its other members are 0. */
typedef struct properties {
    int type, handle_types;
    weft_cu_location_t location;
    void *unused[2];
} properties_t;

typedef struct vmm {
    weft_cu_allocation_t allocation;
    weft_cu_address_t address;
} vmm_t;

static vmm_t take_vmm(weft_cu_address_t place)
{
    vmm_t vmm;
    properties_t properties = {1, WEFT_CU_HANDLE_POSIX_FD, {WEFT_CU_LOCATION_DEVICE, 0}, {NULL}};
    weft_cu_access_t access = {{WEFT_CU_LOCATION_DEVICE, 0}, WEFT_CU_ACCESS_READWRITE};
    CU(cuMemCreate, (weft_cu_allocation_t *, size_t, const properties_t *, unsigned long long),
       &vmm.allocation, BYTES, &properties, 0);
    CU(cuMemAddressReserve,
       (weft_cu_address_t *, size_t, size_t, weft_cu_address_t, unsigned long long), &vmm.address,
       BYTES, 0, place, 0);
    CU(cuMemMap, (weft_cu_address_t, size_t, size_t, weft_cu_allocation_t, unsigned long long),
       vmm.address, BYTES, 0, vmm.allocation, 0);
    CU(cuMemSetAccess, (weft_cu_address_t, size_t, const weft_cu_access_t *, size_t), vmm.address,
       BYTES, &access, 1);
    return vmm;
}

static void give_vmm(const vmm_t *vmm)
{
    CU(cuMemUnmap, (weft_cu_address_t, size_t), vmm->address, BYTES);
    CU(cuMemAddressFree, (weft_cu_address_t, size_t), vmm->address, BYTES);
    CU(cuMemRelease, (weft_cu_allocation_t), vmm->allocation);
}

static weft_memory_t look(const vmm_t *vmm)
{
    weft_memory_t memory;
    assert_int_equal(weft_device->look((void *)(uintptr_t)vmm->address, &memory), MPI_SUCCESS);
    return memory;
}

/* The share that rank PEER would have sent. */
static weft_share_t share_of(const vmm_t *vmm, size_t offset)
{
    weft_share_t share;
    weft_memory_t memory = look(vmm);
    assert_true(weft_device->share(&memory, (char *)(uintptr_t)vmm->address + offset, 100, &share));
    share.owner = PEER;
    return share;
}

/* ---- the mail between this process and itself ---- */

static const int local_ranks[] = {0, PEER};
static weft_fd_box_t boxes[2];

static weft_fd_box_t *box_of(int local_rank)
{
    return &boxes[local_rank];
}

static void wake_nobody(int local_rank)
{
    (void)local_rank;
}

static void open_mail(void)
{
    weft_world.job_id = "mapping-test";
    weft_world.local_ranks = local_ranks;
    weft_world.local_size = 2;
    weft_fd_place = (weft_fd_place_t){.ranks = 2, .rank = PEER, .box = box_of, .wake = wake_nobody};
}

/* Map it, with progress while the owner has to answer. */
static bool map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
                weft_mapping_t *out)
{
    bool is_mapped = weft_device->map(share, device, at_any_price, out);
    while (!is_mapped && weft_fd_is_awaited((int)share->owner, share->ticket)) {
        weft_progress();
        is_mapped = weft_device->map(share, device, at_any_price, out);
    }
    return is_mapped;
}

static void test_same_bytes(void **state)
{
    (void)state;
    vmm_t vmm = take_vmm(0);
    weft_share_t share = share_of(&vmm, 4000);
    weft_mapping_t mapping;
    weft_device_t *device = look(&vmm).device;
    /* a small allocation is mapped when it is seen a second time */
    assert_false(map(&share, device, false, &mapping));
    assert_false(weft_device->is_refused(&share, device));
    assert_true(map(&share, device, false, &mapping));
    assert_ptr_not_equal(mapping.address, (char *)(uintptr_t)vmm.address + 4000);
    weft_queue_t *queue = weft_device->queue(device, WEFT_STREAM_QUICK);
    char *slot = weft_device->take_pinned(device, 300);
    strcpy(slot, "written by its owner");
    assert_int_equal(weft_device->copy(queue, (char *)(uintptr_t)vmm.address + 4000, slot, 100), 0);
    assert_int_equal(weft_device->copy(queue, slot + 200, mapping.address, 100), 0);
    assert_int_equal(weft_queue_wait(queue), MPI_SUCCESS);
    assert_string_equal(slot + 200, "written by its owner");
    weft_device->give_pinned(slot);
    weft_device->unmap(&mapping);
    weft_device->forget(PEER, share.id);
    give_vmm(&vmm);
}

static void test_kept_and_forgotten(void **state)
{
    (void)state;
    vmm_t vmm = take_vmm(0);
    weft_share_t first = share_of(&vmm, 0), second = share_of(&vmm, 64);
    weft_mapping_t one, two;
    int before = wefti_mappings();
    assert_true(map(&first, NULL, true, &one));
    assert_true(map(&second, NULL, true, &two));
    assert_ptr_equal((char *)two.address - 64, one.address);
    assert_int_equal(wefti_mappings(), before + 1);
    weft_device->unmap(&one);
    weft_device->forget(PEER, first.id); /* it is still in use */
    assert_int_equal(wefti_mappings(), before + 1);
    weft_device->unmap(&two);
    assert_int_equal(wefti_mappings(), before + 1);
    weft_device->forget(PEER + 1, first.id);
    assert_int_equal(wefti_mappings(), before + 1);
    weft_device->forget(PEER, first.id);
    assert_int_equal(wefti_mappings(), before);
    give_vmm(&vmm);
}

/* A share of a new allocation at the address of another one means that the old one was freed. */
static void test_successor(void **state)
{
    (void)state;
    vmm_t vmm = take_vmm(0);
    weft_share_t share = share_of(&vmm, 0);
    weft_mapping_t mapping;
    int before = wefti_mappings();
    for (int i = 0; i < 5; i++) {
        assert_true(map(&share, NULL, true, &mapping));
        weft_device->unmap(&mapping);
        assert_int_equal(wefti_mappings(), before + 1);
        share.id += 1000;
        share.bytes -= 4096; /* the driver refuses such a mapping, but the old one is unmapped */
        assert_false(map(&share, NULL, true, &mapping));
        assert_true(weft_device->is_refused(&share, NULL));
        assert_int_equal(wefti_mappings(), before + 1);
        weft_device->forget(PEER, share.id);
        share = share_of(&vmm, 0);
    }
    give_vmm(&vmm);
}

/* The least recently used mappings are removed when there are too many bytes; those in use never
 * are. */
static void test_bounded(void **state)
{
    enum { COUNT = 8 };
    (void)state;
    vmm_t vmm[COUNT];
    weft_mapping_t used, mapping;
    size_t most = weft_config.DEVICE_MAPPED_MAX;
    weft_config.DEVICE_MAPPED_MAX = 3 * (size_t)BYTES;
    for (int i = 0; i < COUNT; i++) {
        vmm[i] = take_vmm(0);
        weft_share_t share = share_of(&vmm[i], 0);
        assert_true(map(&share, NULL, true, i == 0 ? &used : &mapping));
        if (i > 0)
            weft_device->unmap(&mapping);
        assert_in_range(wefti_mappings(), 1, 3);
    }
    weft_share_t first = share_of(&vmm[0], 0);
    assert_true(map(&first, NULL, false, &mapping));
    assert_ptr_equal(mapping.address, used.address);
    weft_device->unmap(&mapping);
    weft_device->unmap(&used);
    weft_config.DEVICE_MAPPED_MAX = most;
    for (int i = 0; i < COUNT; i++)
        give_vmm(&vmm[i]);
}

static uint64_t freed;

static void note_freed(uint64_t id)
{
    freed = id;
}

/* The owner discovers, when it meets other memory, that memory which it has shared was freed. */
static void test_owner_tells(void **state)
{
    (void)state;
    vmm_t vmm = take_vmm(0);
    uint64_t id = share_of(&vmm, 0).id;
    weft_device_freed = note_freed;
    give_vmm(&vmm);
    freed = 0;
    for (int i = 0; i < 1000 && freed != id; i++) {
        char *device = take_device(512);
        weft_memory_t memory;
        assert_int_equal(weft_device->look(device, &memory), MPI_SUCCESS);
        give_device(device);
    }
    weft_device_freed = NULL;
    assert_int_equal(freed, id);
}

static void test_malformed(void **state)
{
    (void)state;
    weft_share_t share = {.owner = PEER, .id = 77, .bytes = 4096, .kind = 1000};
    weft_mapping_t mapping;
    assert_false(map(&share, NULL, true, &mapping));
    share.kind = 4; /* no kind of handle has this number */
    assert_false(map(&share, NULL, true, &mapping));
    assert_true(weft_device->is_refused(&share, NULL));
    /* of a kind that there is, but the data lie outside of it */
    vmm_t vmm = take_vmm(0);
    share = share_of(&vmm, 0);
    share.address = share.base - 1;
    assert_false(map(&share, NULL, true, &mapping));
    share.address = share.base + share.bytes + 1;
    assert_false(map(&share, NULL, true, &mapping));
    share.bytes = UINT64_MAX;
    assert_false(map(&share, NULL, true, &mapping));
    give_vmm(&vmm);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),  cmocka_unit_test(test_kept_and_forgotten),
        cmocka_unit_test(test_successor),   cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_owner_tells), cmocka_unit_test(test_malformed),
    };
    open_mail();
    open_all("late=1");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_cuda_close();
    return failed;
}
