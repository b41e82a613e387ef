"""More programs of GS709: each bad one is reported at its marks, each good one by no rule."""


def bad_flattened_in_another_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(7, 4), nn.GRU(4, 6), nn.Linear(6, 7)
    opt = torch.optim.SGD([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        tokens = torch.randint(0, 7, (8, 5))
        tags = (tokens + tokens.roll(1, 1)) % 7
        out, _ = rnn(embed(tokens).transpose(0, 1))  # (5, 8, 6)
        flat = head(out).reshape(-1, 7)  # cause: GS709
        loss = nn.functional.cross_entropy(flat, tags.reshape(-1))  # effect: GS709
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_all_three_of_attention() -> None:
    """Only the queries meet something in the old order; keys and values are cut in the same wrong way."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    q, k, v, out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([p for layer in (q, k, v, out) for p in layer.parameters()], lr=0.1)

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        b, n, heads, size = query.shape
        query = query.view(b, heads, n, size)  # cause: GS709
        key = key.view(b, heads, n, size)
        value = value.view(b, heads, n, size)
        scores = query @ key.transpose(-2, -1)
        return (scores.softmax(-1) @ value).transpose(1, 2).reshape(b, n, -1)

    for _ in range(3):
        x = torch.randn(6, 5, 8)
        parts = [layer(x).view(6, 5, 2, 4) for layer in (q, k, v)]
        x = x + attention(*parts)  # effect: GS709
        opt.zero_grad()
        out(x).pow(2).mean().backward()
        opt.step()


def bad_windows_viewed_as_time_major() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(1, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    windows = torch.sin(torch.arange(40.0)).unfold(0, 6, 1)
    x, y = windows[:30, :-1], windows[:30, -1]
    x = x.reshape(5, 30, 1)  # cause: GS709
    for _ in range(3):
        out, _ = rnn(x)
        loss = nn.functional.mse_loss(head(out[-1]).squeeze(1), y)  # effect: GS709
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scores_viewed_for_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(7, 4), nn.GRU(4, 6, batch_first=True), nn.Linear(6, 7)
    opt = torch.optim.SGD([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        tokens = torch.randint(0, 7, (8, 5))
        tags = (tokens + tokens.roll(1, 1)) % 7
        scores = head(rnn(embed(tokens))[0])  # (8, 5, 7)
        scores = scores.view(8, 7, 5)  # cause: GS709
        loss = nn.functional.cross_entropy(scores, tags)  # effect: GS709
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_heads_merged_without_transpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix, out, head = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*mix.parameters(), *out.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 6, 8)
        q, k, v = (part.view(4, 6, 2, 4).transpose(1, 2) for part in mix(x).chunk(3, -1))
        attended = torch.softmax(q @ k.transpose(-1, -2), -1) @ v  # (4, 2, 6, 4)
        merged = attended.reshape(4, 6, 8)  # cause: GS709
        x = x + out(merged)  # effect: GS709
        loss = nn.functional.cross_entropy(head(x.mean(1)), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_of_two_attentions_that_share_the_line() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Plain(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            weights = torch.einsum("blhe,bshe->bhls", q, k).softmax(-1)
            return torch.einsum("bhls,bshd->blhd", weights, v).contiguous()

    class Swapped(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            q, k, v = (one.transpose(1, 2) for one in (q, k, v))
            return torch.matmul((q @ k.transpose(2, 3)).softmax(-1), v)

    class Layer(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner, self.given, self.out = inner, nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            size, length, _ = x.shape
            q, k, v = self.given(x).view(size, length, 6, 4).chunk(3, 2)
            mixed = self.inner(q, k, v).view(size, length, -1)  # cause: GS709
            return x + self.out(mixed)  # effect: GS709

    model = nn.Sequential(Layer(Plain()), Layer(Swapped()), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(6, 5, 8)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.cumsum(1)[..., :1]).backward()
        opt.step()


def bad_copies_viewed_as_rows() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(6, 3), torch.randn(6)
        many = model(x.repeat(4, 1))  # the six samples, then the six once more
        mean = many.view(6, 4).mean(1)  # cause: GS709
        loss = nn.functional.mse_loss(mean, y)  # effect: GS709
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_last_states_of_layers_viewed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
            self.head = nn.Linear(16, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            _, (hidden, _) = self.rnn(x.permute(1, 0, 2))
            hidden = hidden.contiguous().view(x.size(0), -1)  # cause: GS709
            return self.head(torch.relu(hidden))

    model = Tagger()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        x, y = torch.randn(10, 6, 3), torch.randint(0, 2, (10,))
        loss = nn.CrossEntropyLoss()(model(x), y)  # effect: GS709
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_heads_split_without_transpose() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    def heads(x: torch.Tensor) -> torch.Tensor:
        return x.view(4, 2, 6, 4)  # cause: GS709

    query, key, value, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2)
    layers = nn.ModuleList([query, key, value, head])
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 6, 8)
        q, k, v = heads(query(x)), heads(key(x)), heads(value(x))
        attended = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        x = x + attended.transpose(1, 2).reshape(4, 6, 8)  # effect: GS709
        loss = nn.functional.cross_entropy(head(x.mean(1)), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_places_flattened_alike() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(7, 4), nn.GRU(4, 6), nn.Linear(6, 7)
    opt = torch.optim.SGD([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        tokens = torch.randint(0, 7, (8, 5))
        out, _ = rnn(embed(tokens).transpose(0, 1))
        loss = nn.functional.cross_entropy(head(out).reshape(-1, 7), tokens.t().reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix, out, head = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*mix.parameters(), *out.parameters(), *head.parameters()], lr=0.1)
    for size, length in ((4, 2), (4, 6), (2, 4)):  # also as many places as heads
        x = torch.randn(size, length, 8)
        q, k, v = (part.view(size, length, 2, 4).transpose(1, 2) for part in mix(x).chunk(3, -1))
        attended = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        x = x + out(attended.transpose(1, 2).reshape(size, length, 8))
        loss = nn.functional.cross_entropy(head(x.mean(1)), torch.randint(0, 2, (size,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_heads_folded_into_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix, out = nn.Linear(8, 24), nn.Linear(8, 8)
    opt = torch.optim.SGD([*mix.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 4, 8)  # time first
        q, k, v = (part.contiguous().view(6, 4 * 2, 4).transpose(0, 1) for part in mix(x).chunk(3, -1))
        attended = torch.bmm(torch.softmax(q.bmm(k.transpose(1, 2)), -1), v)
        x = x + out(attended.transpose(0, 1).contiguous().view(6, 4, 8))
        loss = nn.functional.mse_loss(x, torch.randn(6, 4, 8))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_windows_of_an_image() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix, head = nn.Linear(6, 6), nn.Linear(6, 3)
    opt = torch.optim.SGD([*mix.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(5, 4, 4, 6)  # four windows of four places: as many as rows and columns
        windows = x.view(5, 2, 2, 2, 2, 6).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 6)
        windows = windows + torch.softmax(windows @ windows.transpose(1, 2), -1) @ mix(windows)
        back = windows.view(5, 2, 2, 2, 2, 6).permute(0, 1, 3, 2, 4, 5).reshape(5, 4, 4, 6)
        x = x + back
        loss = nn.functional.cross_entropy(head(x).permute(0, 3, 1, 2), torch.randint(0, 3, (5, 4, 4)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_patches_as_many_as_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def patches(images: torch.Tensor) -> torch.Tensor:
        """(3, 1, 16, 16) as (3, 16, 16): sixteen patches of four by four."""
        return images.reshape(3, 1, 4, 4, 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(3, 16, 16)

    model = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 16))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        images = torch.randn(3, 1, 16, 16)
        target = patches(images)
        mask = torch.rand(3, 16) < 0.5
        shown = model(target * ~mask.unsqueeze(-1))
        whole = shown.reshape(3, 4, 4, 4, 4, 1).permute(0, 5, 1, 3, 2, 4).reshape(3, 1, 16, 16)
        loss = nn.functional.mse_loss(shown, target) + nn.functional.l1_loss(whole, images)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_frames_stacked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(16, 4, batch_first=True), nn.Linear(4, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        sound = torch.randn(3, 16, 8)
        pairs = sound.view(3, 8, 16)  # two neighbours each: as many numbers as there were frames
        loss = nn.functional.cross_entropy(head(rnn(pairs)[0]).flatten(0, 1), torch.randint(0, 5, (24,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_group_norm_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv1d(3, 8, 3, padding=1), nn.Conv1d(8, 2, 1)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = conv(torch.randn(2, 3, 6))
        groups = x.view(2 * 4, -1)  # as many as channels
        groups = (groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-5)
        x = x + groups.view(2, 8, 6)
        loss = nn.functional.cross_entropy(head(x), torch.randint(0, 2, (2, 6)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_channels_shuffled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second, head = nn.Conv2d(6, 6, 1, groups=3), nn.Conv2d(6, 6, 1, groups=3), nn.Linear(6, 2)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 6, 5, 5)
        shuffled = first(x).view(4, 3, 2, 5, 5).transpose(1, 2).reshape(4, 6, 5, 5)
        x = x + second(shuffled)
        loss = nn.functional.cross_entropy(head(x.mean((2, 3))), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_contrast_of_two_views() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 5)
        both = torch.cat([x + 0.1 * torch.randn(6, 5), x + 0.1 * torch.randn(6, 5)])
        codes = nn.functional.normalize(model(both), dim=1).view(2, 6, 4)
        scores = codes[0] @ codes[1].t() / 0.1
        loss = nn.functional.cross_entropy(scores, torch.arange(6))
        loss = loss + nn.functional.cross_entropy(scores.t(), torch.arange(6))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_copies_kept_in_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(6, 3), torch.randn(6)
        many = model(x.repeat(4, 1)).view(4, 6).mean(0)
        again = model(x.repeat_interleave(4, dim=0)).view(6, 4).mean(1)
        loss = nn.functional.mse_loss(many, y) + nn.functional.mse_loss(again, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_choices_folded_into_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(9, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 1)
    opt = torch.optim.SGD([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        tokens = torch.randint(0, 9, (6, 4, 7))
        _, hidden = rnn(embed(tokens.view(-1, 7)))
        scores = head(hidden[-1]).view(-1, 4)
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 4, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rows_cut_from_a_stream() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(9, 4), nn.GRU(4, 5), nn.Linear(5, 9)
    opt = torch.optim.SGD([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    stream = torch.randint(0, 9, (4 * 31,))
    rows = stream.view(31, 4).view(4, 31).t().contiguous()  # the first view says nothing
    for start in range(0, 30, 10):
        out, _ = rnn(embed(rows[start : start + 10]))
        target = rows[start + 1 : start + 11].reshape(-1)
        loss = nn.functional.cross_entropy(head(out).view(-1, 9), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_model_of_what_was_cut() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(4, 5), nn.Linear(5, 4)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        noise = torch.randn(7, 6, 4).view(6, 7, 4)  # both sides of the loss are cut alike
        loss = nn.functional.mse_loss(head(rnn(noise)[0]), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_constant_targets() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(4, 3)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        scores = critic(torch.randn(2, 6, 4)).view(6, 6)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, torch.ones(6, 6))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_pixels_shuffled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv = nn.Conv2d(1, 4, 3, padding=1)
    opt = torch.optim.SGD(conv.parameters(), lr=0.1)
    for _ in range(3):
        small, large = torch.randn(2, 1, 4, 4), torch.randn(2, 1, 8, 8)
        by_hand = conv(small).view(2, 1, 2, 2, 4, 4).permute(0, 1, 4, 2, 5, 3).reshape(2, 1, 8, 8)
        loss = nn.functional.mse_loss(by_hand, large)
        loss = loss + nn.functional.mse_loss(nn.functional.pixel_shuffle(conv(small), 2), large)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_directions_joined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4, num_layers=2, bidirectional=True), nn.Linear(8, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        _, (hidden, _) = rnn(torch.randn(5, 6, 3))
        last = hidden.view(2, 2, 6, 4)[-1]
        scores = head(torch.cat([last[0], last[1]], dim=1))
        scores = scores + head(last.permute(1, 0, 2).reshape(6, 8))
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_positions_skewed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mix, out, head = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 2)
    distances = nn.Parameter(torch.randn(6, 8))
    opt = torch.optim.SGD([distances, *mix.parameters(), *out.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 6, 8)
        q, k, v = mix(x).chunk(3, -1)
        scores = nn.functional.pad(q @ distances.t(), (1, 0))  # (4, 6, 7)
        skewed = scores.reshape(4, 7, 6)[:, 1:]  # row i moved by i: relative places
        x = x + out(torch.softmax(q @ k.transpose(1, 2) + skewed, -1) @ v)
        loss = nn.functional.cross_entropy(head(x.mean(1)), torch.randint(0, 2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_states_of_all_layers_in_a_row() -> None:  # fix: by hand
    """The states (layers, batch, hidden) viewed as (batch, features), through a layer and back."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, encoder, decoder = nn.Embedding(9, 4), nn.GRU(4, 5, 2), nn.GRU(4, 5, 2)
    bridge, head = nn.Linear(10, 10), nn.Linear(5, 9)
    model = nn.ModuleList([embed, encoder, decoder, bridge, head])
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        tokens = torch.randint(0, 9, (7, 6))
        states = encoder(embed(tokens))[1]
        flat = states.view(6, 10)  # cause: GS709
        start = torch.tanh(bridge(flat)).view(2, 6, 5)  # effect: GS709
        scores = head(decoder(embed(tokens[:-1]), start)[0])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_states_moved_to_the_batch_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, encoder, head = nn.Embedding(9, 4), nn.GRU(4, 5, 2, bidirectional=True), nn.Linear(20, 3)
    opt = torch.optim.Adam(nn.ModuleList([embed, encoder, head]).parameters(), lr=0.01)
    for _ in range(3):
        states = encoder(embed(torch.randint(0, 9, (7, 6))))[1]
        scores = head(states.transpose(0, 1).reshape(6, 20))
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sentences_of_documents() -> None:
    """Each document's sentences are a batch of the encoder and the features of the document."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, head = nn.GRU(4, 5, batch_first=True), nn.Linear(15, 3)
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randn(4, 3, 7, 4)
        states = encoder(words.view(12, 7, 4))[1]
        scores = head(states.view(4, 15))
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 3, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mask_cut_across() -> None:
    """A mask for (batch, channels, bands, time), made of features of each time."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 6)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        spec = torch.randn(4, 2, 3, 5)
        mask = net(spec.permute(0, 3, 1, 2).flatten(2)).reshape(4, 2, 3, 5)  # cause: GS709
        out = spec * torch.sigmoid(mask)  # effect: GS709
        loss = nn.functional.l1_loss(out, torch.randn(4, 2, 3, 5))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_moved_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 6)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        spec = torch.randn(4, 2, 3, 5)
        mask = net(spec.permute(0, 3, 1, 2).flatten(2)).transpose(1, 2).reshape(4, 2, 3, 5)
        loss = nn.functional.l1_loss(spec * torch.sigmoid(mask), torch.randn(4, 2, 3, 5))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rows_mixed_by_an_option() -> None:
    import torch
    from torch import nn

    class Heads(nn.Module):
        def __init__(self, mix: bool) -> None:
            super().__init__()
            self.turn, self.out, self.mix = nn.Linear(16, 16), nn.Linear(16, 16), mix

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rows, places, _ = x.shape
            q = self.turn(x).view(rows, places, 4, -1)
            look = torch.einsum("blhd,bshd->bhls", q, q).softmax(-1)
            out = torch.einsum("bhls,bshd->blhd", look, q).contiguous()
            if self.mix:
                out = out.transpose(2, 1).contiguous()
            found: torch.Tensor = self.out(out.view(rows, places, -1))
            return found

    torch.manual_seed(0)
    plain, mixed, head = Heads(False), Heads(True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*plain.parameters(), *mixed.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 12, 16)
        h = x + plain(x)
        h = h + mixed(h)
        opt.zero_grad()
        (head(h).squeeze(-1) - x.sum(-1)).pow(2).mean().backward()
        opt.step()
