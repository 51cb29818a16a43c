ATTACH ? AS sqluice_library
