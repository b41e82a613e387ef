"""More programs of GS220: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_sequence() -> None:
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.linear = nn.Linear(size, size)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x)) + x  # effect: GS220

    depth = 4
    model = nn.Sequential(*([Layer(4)] * depth))  # cause: GS220
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_heads_that_share_on_purpose() -> None:
    import torch
    from torch import nn

    head = nn.Linear(4, 2)
    heads = nn.ModuleList([head for _ in range(3)])
    body = nn.Linear(4, 4)
    opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        total = torch.zeros(())
        for one in heads:
            x = torch.tanh(body(x))
            total = total + one(x).pow(2).mean()
        opt.zero_grad()
        total.backward()
        opt.step()


def good_one_of_a_list_of_one() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(*[nn.Linear(4, 4)] * 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_before_a_layer_of_another_kind() -> None:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x)) + x  # effect: GS220

    model = nn.Sequential(*[Residual()] * 3, nn.Linear(4, 2))  # cause: GS220
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_two_layers_unpacked_into_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [nn.Linear(8, 8), nn.ReLU()] * 3  # cause: GS220
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *blocks, nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        given = model(x)  # effect: GS220
        opt.zero_grad()
        (given.squeeze(1) - x.sum(1)).pow(2).mean().backward()
        opt.step()


def bad_shallow_copies() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(8, 8)
    hidden = nn.ModuleList([copy.copy(layer) for _ in range(3)])  # cause: GS220
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *hidden.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        h = first(x)
        for part in hidden:
            h = torch.relu(part(h))  # effect: GS220
        loss = (last(h).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_activations_repeated() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    acts = [nn.ReLU()] * 2
    model = nn.Sequential(nn.Linear(4, 8), acts[0], nn.Linear(8, 8), acts[1], nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_a_dict_of_copies() -> None:
    import copy

    import torch
    from torch import nn

    class Mixer(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, width)

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            return h + nn.functional.silu(self.up(self.norm(h)))  # effect: GS220

    def stack(prototype: nn.Module, depth: int) -> nn.ModuleDict:
        return nn.ModuleDict({f"layer{k}": copy.copy(prototype) for k in range(depth)})  # cause: GS220

    class Tower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.out = stack(Mixer(6), 4), nn.Linear(6, 1)

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            for layer in self.layers.values():
                h = layer(h)
            return self.out(h)

    model = Tower()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 6)).pow(2).mean().backward()
        opt.step()


def bad_from_keys() -> None:
    import torch
    from torch import nn

    class Expert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.linear(x))  # effect: GS220

    model = nn.ModuleDict(dict.fromkeys(["eu", "us", "asia"], Expert()))  # cause: GS220
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        sum((expert(x) - k).pow(2).mean() for k, expert in enumerate(model.values())).backward()
        opt.step()


def bad_shallow_attributes() -> None:  # fix: by hand
    from copy import copy as shallow

    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x))  # effect: GS220

    class Twins(nn.Module):
        def __init__(self, block: nn.Module) -> None:
            super().__init__()
            self.left = block
            self.right = shallow(block)  # cause: GS220

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.left(x) - self.right(-x)

    model = Twins(Block())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


def good_tied_beside_a_copy_of_settings() -> None:
    import copy

    import torch
    from torch import nn

    settings = {"width": 4}
    mine = copy.copy(settings)
    layers = [nn.Linear(mine["width"], mine["width"]) for _ in range(3)]
    for layer in layers[1:]:
        layer.weight, layer.bias = layers[0].weight, layers[0].bias
    model = nn.Sequential(*layers)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


def bad_made_by_a_function() -> None:
    import torch
    from torch import nn

    def mlp(size: int, hidden: int) -> nn.Sequential:
        parts: list[nn.Module] = []
        for i in range(2):
            parts += [nn.Linear(size if i == 0 else hidden, hidden), nn.LeakyReLU()]
        return nn.Sequential(*parts)

    class TwoInputs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mlps = nn.ModuleList([mlp(1, 8)] * 2)  # cause: GS220
            self.out = nn.Linear(16, 1)

        def forward(self, pitch: torch.Tensor, loudness: torch.Tensor) -> torch.Tensor:
            first = self.mlps[0](pitch)  # effect: GS220
            second = self.mlps[1](loudness)
            out: torch.Tensor = self.out(torch.cat([first, second], 1))
            return out

    torch.manual_seed(0)
    model = TwoInputs()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        pitch, loudness = torch.rand(16, 1), torch.rand(16, 1)
        opt.zero_grad()
        (model(pitch, loudness) - pitch * loudness).pow(2).mean().backward()
        opt.step()


def good_each_made_by_a_function() -> None:
    import torch
    from torch import nn

    def mlp(size: int, hidden: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(size, hidden), nn.LeakyReLU())

    class TwoInputs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mlps = nn.ModuleList([mlp(1, 8) for _ in range(2)])
            self.sizes = [8] * 2
            self.out = nn.Linear(sum(self.sizes), 1)

        def forward(self, pitch: torch.Tensor, loudness: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.out(torch.cat([self.mlps[0](pitch), self.mlps[1](loudness)], 1))
            return out

    torch.manual_seed(0)
    model = TwoInputs()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        pitch, loudness = torch.rand(16, 1), torch.rand(16, 1)
        opt.zero_grad()
        (model(pitch, loudness) - pitch * loudness).pow(2).mean().backward()
        opt.step()


def bad_number_first() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.conv = nn.Conv1d(width, width, kernel_size=3, padding=1, bias=False)
            self.norm = nn.BatchNorm1d(width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.norm(self.conv(x))) + x  # effect: GS220

    class Deep(nn.Module):
        def __init__(self, width: int = 4, depth: int = 5) -> None:
            super().__init__()
            self.blocks = nn.Sequential(*(depth * [Block(width)]))  # cause: GS220
            self.out = nn.Linear(width * 6, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            given: torch.Tensor = self.out(self.blocks(x).flatten(1))
            return given

    torch.manual_seed(0)
    model = Deep()
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(4):
        x, label = torch.randn(12, 4, 6), torch.randint(0, 2, (12,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), label).backward()
        opt.step()


def bad_repeated_by_itertools() -> None:
    import itertools

    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.tanh(self.linear(x))  # effect: GS220

    torch.manual_seed(0)
    layers = nn.ModuleList(itertools.repeat(Residual(), 3))  # cause: GS220
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for _ in range(3):
        h = torch.randn(8, 4)
        for layer in layers:
            h = layer(h)
        opt.zero_grad()
        (h - 1).pow(2).mean().backward()
        opt.step()


def bad_two_in_a_tuple_number_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden = 3 * (nn.Linear(8, 8), nn.Tanh())  # cause: GS220
    model = nn.Sequential(nn.Linear(4, 8), *hidden, nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        given = model(x)  # effect: GS220
        opt.zero_grad()
        (given.squeeze(1) - x.sum(1)).pow(2).mean().backward()
        opt.step()


def good_number_first_of_one_that_has_a_name() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    shared = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    model = nn.Sequential(*(3 * [shared]), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x).squeeze(1) - x.sum(1)).pow(2).mean().backward()
        opt.step()


def good_number_first_of_widths_and_of_activations() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    widths, acts = 3 * [6], 3 * [nn.ReLU()]
    parts: list[nn.Module] = [nn.Linear(4, 6)]
    for width, act in zip(widths, acts, strict=True):
        parts += [act, nn.Linear(width, 6)]
    model = nn.Sequential(*parts, nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x).squeeze(1) - x.sum(1)).pow(2).mean().backward()
        opt.step()
