ATTACH ? AS queue
