"""More programs of GS714: each bad one is reported at its marks, each good one by no rule."""


def bad_encoder_with_an_embedding_of_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(9, 8), nn.Embedding(5, 8)
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)  # cause: GS714
            self.encoder = nn.TransformerEncoder(layer, num_layers=2)
            self.head = nn.Linear(8, 9)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.tokens(x) + self.places(torch.arange(x.size(1)))  # effect: GS714
            return self.head(self.encoder(x))

    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        tokens = torch.randint(0, 9, (6, 5))
        loss = nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens.flip(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_time_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tokens, places = nn.Embedding(9, 8), nn.Parameter(torch.randn(5, 1, 8))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), num_layers=1)
    head = nn.Linear(8, 9)
    opt = torch.optim.SGD([places, *tokens.parameters(), *encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        given = torch.randint(0, 9, (5, 6))
        scores = head(encoder(tokens(given) + places))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), given.flip(0).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_positions_before_the_axes_are_swapped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tokens, places = nn.Embedding(9, 8), nn.Embedding(5, 8)
    attention, head = nn.MultiheadAttention(8, 2), nn.Linear(8, 9)
    modules = nn.ModuleList([tokens, places, attention, head])
    opt = torch.optim.SGD(modules.parameters(), lr=0.1)
    for _ in range(3):
        given = torch.randint(0, 9, (6, 5))
        x = (tokens(given) + places(torch.arange(5))).transpose(0, 1)
        mixed = x + attention(x, x, x)[0]
        loss = nn.functional.cross_entropy(head(mixed).permute(1, 2, 0), given)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_axes_have_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    times, joints = nn.Parameter(torch.randn(7, 1, 8)), nn.Parameter(torch.randn(1, 4, 8))
    along, across, head = nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 2), nn.Linear(8, 3)
    modules = nn.ModuleList([along, across, head])
    opt = torch.optim.SGD([times, joints, *modules.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(7, 4, 8) + times + joints
        x = x + along(x, x, x)[0]
        y = x.transpose(0, 1)
        x = x + across(y, y, y)[0].transpose(0, 1)
        loss = nn.functional.mse_loss(head(x), torch.randn(7, 4, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_places_of_the_first_axis() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    angles = torch.arange(50).unsqueeze(1) / 10 ** torch.linspace(0, 2, 4)
    places = torch.cat([angles.sin(), angles.cos()], dim=1).unsqueeze(1)
    words, targets = torch.randint(0, 9, (40, 6)), torch.randint(0, 3, (40,))
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 3)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)  # effect: GS714
    opt = torch.optim.SGD([*embedding.parameters(), *attention.parameters(), *head.parameters()], lr=0.1)
    for chosen in torch.randperm(40).split(10):
        x = embedding(words[chosen])
        x = x + places[: x.size(0)]  # cause: GS714
        mixed, _ = attention(x, x, x)
        loss = nn.functional.cross_entropy(head(mixed.mean(dim=1)), targets[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_numbered_by_the_batch() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    tokens, places, mix, head = nn.Embedding(9, 8), nn.Embedding(20, 8), nn.Linear(8, 24), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (tokens, places, mix, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randint(0, 9, (6, 5))
        h = tokens(x) + places(torch.arange(x.size(0)).unsqueeze(1))  # cause: GS714
        q, k, v = mix(h).view(6, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        out = nn.functional.scaled_dot_product_attention(q, k, v)  # effect: GS714
        logits = head(out.transpose(1, 2).reshape(6, 5, 8))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), x.flip(1).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_numbered_by_the_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tokens, places, mix, head = nn.Embedding(9, 8), nn.Embedding(20, 8), nn.Linear(8, 24), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (tokens, places, mix, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randint(0, 9, (6, 5))
        h = tokens(x) + places(torch.arange(x.size(1)))
        q, k, v = mix(h).view(6, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        out = nn.functional.scaled_dot_product_attention(q, k, v)
        logits = head(out.transpose(1, 2).reshape(6, 5, 8))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), x.flip(1).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_token_for_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kinds = nn.Parameter(torch.randn(1, 1, 8))
    attention, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.SGD([kinds, *attention.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 5, 8)
        x = x + kinds.expand(6, 1, 8) + torch.randn(6, 1, 8)
        loss = nn.functional.cross_entropy(head(attention(x, x, x)[0].mean(1)), torch.randint(0, 3, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
