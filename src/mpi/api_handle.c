/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as integers, for other languages (MPI 5.0 section 20.4). Datatypes and operations, which
 * keep their numbers themselves, are in the files of their chapters. All work at any time; a number
 * that no handle has gives the null handle. */
#include "mpi/api.h"

#include "object/handle_numbers.h"

WEFT_API(MPI_Comm_toint);
int PMPI_Comm_toint(MPI_Comm comm)
{
    return weft_handle_number(comm);
}

WEFT_API(MPI_Comm_fromint);
MPI_Comm PMPI_Comm_fromint(int comm)
{
    return weft_handle_of_number(comm, MPI_COMM_NULL);
}

WEFT_API(MPI_Errhandler_toint);
int PMPI_Errhandler_toint(MPI_Errhandler errhandler)
{
    return weft_handle_number(errhandler);
}

WEFT_API(MPI_Errhandler_fromint);
MPI_Errhandler PMPI_Errhandler_fromint(int errhandler)
{
    return weft_handle_of_number(errhandler, MPI_ERRHANDLER_NULL);
}

WEFT_API(MPI_File_toint);
int PMPI_File_toint(MPI_File file)
{
    return weft_handle_number(file);
}

WEFT_API(MPI_File_fromint);
MPI_File PMPI_File_fromint(int file)
{
    return weft_handle_of_number(file, MPI_FILE_NULL);
}

WEFT_API(MPI_Group_toint);
int PMPI_Group_toint(MPI_Group group)
{
    return weft_handle_number(group);
}

WEFT_API(MPI_Group_fromint);
MPI_Group PMPI_Group_fromint(int group)
{
    return weft_handle_of_number(group, MPI_GROUP_NULL);
}

WEFT_API(MPI_Info_toint);
int PMPI_Info_toint(MPI_Info info)
{
    return weft_handle_number(info);
}

WEFT_API(MPI_Info_fromint);
MPI_Info PMPI_Info_fromint(int info)
{
    return weft_handle_of_number(info, MPI_INFO_NULL);
}

WEFT_API(MPI_Message_toint);
int PMPI_Message_toint(MPI_Message message)
{
    return weft_handle_number(message);
}

WEFT_API(MPI_Message_fromint);
MPI_Message PMPI_Message_fromint(int message)
{
    return weft_handle_of_number(message, MPI_MESSAGE_NULL);
}

WEFT_API(MPI_Request_toint);
int PMPI_Request_toint(MPI_Request request)
{
    return weft_handle_number(request);
}

WEFT_API(MPI_Request_fromint);
MPI_Request PMPI_Request_fromint(int request)
{
    return weft_handle_of_number(request, MPI_REQUEST_NULL);
}

WEFT_API(MPI_Session_toint);
int PMPI_Session_toint(MPI_Session session)
{
    return weft_handle_number(session);
}

WEFT_API(MPI_Session_fromint);
MPI_Session PMPI_Session_fromint(int session)
{
    return weft_handle_of_number(session, MPI_SESSION_NULL);
}

WEFT_API(MPI_Win_toint);
int PMPI_Win_toint(MPI_Win win)
{
    return weft_handle_number(win);
}

WEFT_API(MPI_Win_fromint);
MPI_Win PMPI_Win_fromint(int win)
{
    return weft_handle_of_number(win, MPI_WIN_NULL);
}
