def good_written_back() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        lengths, order = lengths.sort(descending=True)
        _, hidden = rnn(pack_padded_sequence(x[order], lengths, batch_first=True))
        back = torch.zeros_like(hidden[-1])
        back[order] = hidden[-1]
        opt.zero_grad()
        nn.functional.cross_entropy(head(back), y).backward()
        opt.step()


def good_targets_sorted_as_well() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        lengths, order = torch.sort(lengths, descending=True)
        x, y = x[order], y[order]
        _, (hidden, _) = rnn(pack_padded_sequence(x, lengths, batch_first=True))
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden[-1]), y).backward()
        opt.step()


def good_put_back_by_a_gather() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        order = lengths.argsort(descending=True)
        packed = pack_padded_sequence(x.index_select(0, order), lengths[order], batch_first=True)
        output, _ = pad_packed_sequence(rnn(packed)[0], batch_first=True)
        last = output.mean(1)
        last = last.gather(0, order.argsort().unsqueeze(1).expand_as(last))
        opt.zero_grad()
        nn.functional.cross_entropy(head(last), y).backward()
        opt.step()


def good_torch_sorts() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        _, hidden = rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden[-1]), y).backward()
        opt.step()


def good_packed_twice_and_put_back_each_time() -> None:
    """The padding is cut off by packing and padding anew, before the layer sorts, packs and puts back itself."""
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])

    def squeezed(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        order = torch.argsort(-lengths)
        back = torch.argsort(order)
        packed = pack_padded_sequence(x[order], lengths[order], batch_first=True)
        shorter, _ = pad_packed_sequence(packed, batch_first=True)
        return shorter[back]

    def read(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        order = torch.argsort(-lengths)
        back = torch.argsort(order)
        _, hidden = rnn(pack_padded_sequence(x[order], lengths[order], batch_first=True))
        return hidden.transpose(0, 1)[back].transpose(0, 1)[-1]

    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(head(read(squeezed(x, lengths), lengths)), y).backward()
        opt.step()


def bad_put_back_before_the_layer_alone() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])

    def squeezed(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        order = torch.argsort(-lengths)
        packed = pack_padded_sequence(x[order], lengths[order], batch_first=True)
        shorter, _ = pad_packed_sequence(packed, batch_first=True)
        return shorter[torch.argsort(order)]

    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        x = squeezed(x, lengths)
        lengths, order = lengths.sort(descending=True)
        _, hidden = rnn(pack_padded_sequence(x[order], lengths, batch_first=True))  # cause: GS381
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden[-1]), y).backward()  # effect: GS381
        opt.step()
