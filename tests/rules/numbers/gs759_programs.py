"""More programs of GS759: each bad one is reported at its marks, each good one by no rule."""


def bad_heads_put_together() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows, places, width = x.shape
            q, k, v = (t.view(rows, places, 2, 4).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            mixed = (q @ k.transpose(-1, -2) / 2).softmax(-1) @ v
            joined = mixed.reshape(rows, places, width)  # cause: GS759
            return self.out(joined)  # effect: GS759

    heads, last = Heads(), nn.Linear(8, 1)
    opt = torch.optim.SGD([*heads.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6, 8)
        opt.zero_grad()
        nn.functional.mse_loss(last(heads(x).mean(1)), x[:, 0, :1]).backward()
        opt.step()


def bad_channels_of_a_series() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, last = nn.Conv1d(5, 4, 3, padding=1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*conv.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        series = torch.randn(16, 12, 5).cumsum(1)
        found = conv(series.view(16, 5, 12))  # cause: GS759
        opt.zero_grad()
        nn.functional.cross_entropy(last(found.mean(2)), (series[:, -1, 0] > 0).long()).backward()
        opt.step()


def good_flattened_before_the_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Conv2d(3, 4, 3), nn.Linear(4 * 36, 2)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        photos = torch.randn(16, 3, 8, 8)
        found = first(photos).reshape(16, 36, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(
            last(torch.relu(found).flatten(1)), (photos.mean((1, 2, 3)) > 0).long()
        ).backward()
        opt.step()


def good_neighbours_put_into_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    listen, last = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 1)
    opt = torch.optim.SGD([*listen.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        sound = torch.randn(8, 6, 3).cumsum(1)
        halved = sound.reshape(8, 3, 6)
        opt.zero_grad()
        nn.functional.mse_loss(last(listen(halved)[0][:, -1]), sound[:, -1, :1]).backward()
        opt.step()


def good_patches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, last = nn.Linear(3 * 16, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*embed.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        photos = torch.randn(16, 3, 8, 8).cumsum(3)
        cut = photos.reshape(16, 3, 2, 4, 2, 4).permute(0, 2, 4, 3, 5, 1).reshape(16, 4, 48)
        opt.zero_grad()
        nn.functional.cross_entropy(last(embed(cut).mean(1)), (photos.mean((1, 2, 3)) > 0).long()).backward()
        opt.step()


def good_seeds_of_a_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    up = nn.ConvTranspose2d(6, 1, 2, 2)
    opt = torch.optim.SGD(up.parameters(), lr=0.1)
    for _ in range(3):
        seeds = torch.randn(8, 4, 4, 6).view(8, 6, 4, 4)
        opt.zero_grad()
        nn.functional.mse_loss(up(seeds), torch.ones(8, 1, 8, 8)).backward()
        opt.step()


def bad_batch_and_places_of_packed_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, walk, head = nn.Embedding(20, 6), nn.LSTM(6, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*embed.parameters(), *walk.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        lengths = torch.randint(2, 8, (12,))
        lengths[0] = 7
        tokens = torch.randint(1, 20, (12, 7)) * (torch.arange(7) < lengths.unsqueeze(1))
        read = embed(tokens)
        turned = read.view(read.shape[1], read.shape[0], -1)  # cause: GS759
        packed = nn.utils.rnn.pack_padded_sequence(turned, lengths, enforce_sorted=False)
        _, (state, _) = walk(packed)  # effect: GS759
        opt.zero_grad()
        nn.functional.cross_entropy(head(state[-1]), tokens[:, 0] % 2).backward()
        opt.step()


def bad_tokens_viewed_to_the_front() -> None:
    """Attention wants (tokens, batch, features), and a view gives it these sizes; another one puts them back."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.look, self.norm = nn.MultiheadAttention(8, 2), nn.LayerNorm(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows, places, size = x.shape
            z = x.view(places, rows, size)  # cause: GS759
            z, _ = self.look(z, z, z)  # effect: GS759
            found: torch.Tensor = self.norm(x + z.view(rows, places, size))
            return found

    torch.manual_seed(0)
    embed, block, head = nn.Embedding(9, 8), Block(), nn.Linear(8, 3)
    opt = torch.optim.Adam(nn.ModuleList([embed, block, head]).parameters(), lr=0.01)
    for _ in range(3):
        tokens = torch.randint(0, 9, (6, 5))
        loss = nn.functional.cross_entropy(head(block(embed(tokens))[:, 0]), tokens[:, 1] % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_tokens_transposed_to_the_front() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, look, head = nn.Embedding(9, 8), nn.MultiheadAttention(8, 2), nn.Linear(8, 3)
    opt = torch.optim.Adam(nn.ModuleList([embed, look, head]).parameters(), lr=0.01)
    for _ in range(3):
        tokens = torch.randint(0, 9, (6, 5))
        x = embed(tokens)
        z = x.transpose(0, 1)
        z = look(z, z, z)[0].transpose(0, 1).reshape(6, 5, 8)
        loss = nn.functional.cross_entropy(head((x + z)[:, 0]), tokens[:, 1] % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_windows_cut_out_of_a_row() -> None:
    """Attention within windows of a long row of tokens: as many windows as each has places, next to each other."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    look, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.Adam([*look.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(6, 12, 8)
        z = x.view(6 * 3, 4, 8)
        z = look(z, z, z)[0].reshape(6, 12, 8)
        w = x.view(6, 4, 3, 8).reshape(6 * 4, 3, 8)
        w = look(w, w, w)[0].reshape(6, 12, 8)
        loss = nn.functional.cross_entropy(head((z + w).mean(1)), torch.randint(0, 3, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_row_of_tokens() -> None:
    """A batch of one: a view of its sizes exchanged is a transposition."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    look, head = nn.MultiheadAttention(8, 2), nn.Linear(8, 3)
    opt = torch.optim.Adam([*look.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(1, 5, 8)
        z = x.view(5, 1, 8)
        z = look(z, z, z)[0].view(1, 5, 8)
        loss = nn.functional.cross_entropy(head((x + z).mean(1)), torch.randint(0, 3, (1,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_steps_reshaped_there_and_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(4, 4), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(6, 7, 4)
        turned = torch.relu(x).reshape(7, 6, 4)  # cause: GS759
        out, _ = rnn(turned)  # effect: GS759
        x = x + torch.tanh(out).reshape(6, 7, 4)
        loss = nn.functional.cross_entropy(head(x.mean(1)), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
