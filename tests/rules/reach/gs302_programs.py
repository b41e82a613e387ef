"""More programs of GS302: each bad one is reported at its marks, each good one by no rule."""


def bad_added_from_outside() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    model.scale = nn.Parameter(torch.ones(2))  # cause: GS302
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_result_dropped() -> None:  # fix: by hand
    import torch

    w = torch.randn(4, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    opt = torch.optim.SGD([w, b], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        prediction = x @ w
        _ = prediction + b  # cause: GS302
        prediction.pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_result_given_to_the_loops_own_variable() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Unit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.inner(torch.relu(x))
            return out + x

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.units = nn.ModuleList([Unit(), Unit()])
            self.out = nn.Linear(8, 1)

        def forward(self, *parts: torch.Tensor) -> torch.Tensor:
            for unit, part in zip(self.units, parts):
                part = unit(part)  # cause: GS302
            return self.out(torch.cat(parts, 1))  # type: ignore[no-any-return]

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4), torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_joined_in_turns_and_overwritten() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = x[:, :0]
            for part, piece in zip(self.parts, x.chunk(3, 1), strict=True):
                out = torch.cat((out, part(piece)), 1)  # cause: GS302
            out = x.tanh()
            self.seen = len(out)
            return out

    model, head = Parts(), nn.Linear(6, 1)
    opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        head(model(torch.randn(8, 6))).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_second_output_left_alone() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.main, self.aux = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            aux = self.aux(hidden)
            return self.main(hidden), aux

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out, _ = net(torch.randn(8, 4))  # cause: GS302
        out.pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_no_longer_called() -> None:  # fix: by hand
    import torch
    from torch import nn

    body, extra, head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([p for m in (body, extra, head) for p in m.parameters()], lr=0.1)
    for step in range(20):
        hidden = body(torch.randn(8, 4))
        if step < 12:
            hidden = extra(hidden)  # cause: GS302
        opt.zero_grad()
        head(hidden).pow(2).mean().backward()  # effect: GS302
        opt.step()


def good_backbone_for_its_features() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
            self.out = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.backbone.encoder(x))  # type: ignore[no-any-return]

    net = Net()
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(4, 3, 8)).pow(2).mean().backward()
        opt.step()


def good_features_taken_by_a_hook() -> None:
    import torch
    from torch import nn

    taken = []
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    net[1].register_forward_hook(lambda module, args, result: taken.append(result))
    out = nn.Linear(8, 1)
    opt = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        taken.clear()
        net(torch.randn(8, 4))
        opt.zero_grad()
        out(taken[0]).pow(2).mean().backward()
        opt.step()


def bad_called_twice_and_left_alone() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.main = nn.Linear(4, 4), nn.Linear(4, 1)
            self.aux = nn.Linear(4, 1)  # cause: GS302

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            return self.main(hidden), self.aux(hidden)

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        real, _ = net(torch.randn(8, 4))
        fake, _ = net(-torch.randn(8, 4))
        (real - fake).pow(2).mean().backward()  # effect: GS302
        opt.step()


def good_expert_not_chosen_yet() -> None:
    import torch
    from torch import nn

    experts = nn.ModuleList([nn.Linear(4, 1) for _ in range(4)])
    opt = torch.optim.SGD(experts.parameters(), lr=0.1)
    for step in range(3):
        opt.zero_grad()
        experts[step](torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_layer_under_a_condition() -> None:
    import torch
    from torch import nn

    class Bouncing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fall, self.bounce = nn.Linear(1, 1), nn.Linear(1, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.fall(x)
            if bool((x < -100).any()):
                y = self.bounce(y)
            return y

    model = Bouncing()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 1)).pow(2).mean().backward()
        opt.step()


def good_option_off() -> None:
    import torch
    from torch import nn

    class Sum(nn.Module):
        def __init__(self, weighted: bool) -> None:
            super().__init__()
            self.weighted, self.layer = weighted, nn.Linear(2, 2)
            self.share = nn.Parameter(torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.layer(x)
            return self._weigh(x, y) if self.weighted else x + y

        def _weigh(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x * self.share + y

    model = Sum(weighted=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 2)).pow(2).mean().backward()
        opt.step()


def bad_input_given_out_in_place_of_the_result() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Mixing(nn.Module):
        def __init__(self, last: bool) -> None:
            super().__init__()
            self.project, self.score, self.last = nn.Linear(4, 4), nn.Linear(4, 1), last

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.project(x)
            weights = torch.softmax(self.score(h) @ torch.ones(1, len(x)), 1)
            mixed = weights @ h  # cause: GS302
            if self.last:
                return h
            return torch.relu(mixed)

    model = nn.Sequential(Mixing(False), Mixing(True))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(6, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_layer_never_called() -> None:  # fix: by hand
    import torch
    from torch import nn

    mean, deviation = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD([*mean.parameters(), *deviation.parameters()], lr=0.1)  # cause: GS302
    for _ in range(3):
        opt.zero_grad()
        mean(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_whole_block_never_called() -> None:  # fix: by hand
    """The block's class uses each of its layers: it is the block that nobody calls."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(4)
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.relu(self.linear(self.norm(x)))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Block()
            self.second = Block()  # cause: GS302
            self.out = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.first(x))  # type: ignore[no-any-return]

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_own_optimizer_never_steps() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.extra = nn.Linear(8, 8)  # cause: GS302
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(torch.relu(self.body(x)))
            return y

    net = Net()
    opt = torch.optim.SGD([*net.body.parameters(), *net.head.parameters()], lr=0.1)
    opt_extra = torch.optim.SGD(net.extra.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        opt_extra.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def good_next_phase_not_reached_yet() -> None:
    import torch
    from torch import nn

    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    opt_first = torch.optim.SGD(first.parameters(), lr=0.1)
    opt_second = torch.optim.SGD(second.parameters(), lr=0.1)
    for step in range(4):
        opt_first.zero_grad()
        opt_second.zero_grad()
        h = first(torch.randn(8, 4))
        if step >= 100:
            h = second(h)
        h.pow(2).mean().backward()
        opt_first.step()
        if step >= 100:
            opt_second.step()


def bad_adapted_parameters_that_nothing_reads() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.func import functional_call

    torch.manual_seed(0)
    model, rates = nn.Linear(3, 1), nn.ParameterDict()
    for name, p in model.named_parameters():
        rates[name] = nn.Parameter(torch.full_like(p, 0.1))
    opt = torch.optim.SGD([*model.parameters(), *rates.parameters()], lr=0.05)
    for _ in range(6):
        total = torch.zeros(())
        for _ in range(2):
            x, y = torch.randn(8, 3), torch.randn(8, 1)
            fast = {n: p.clone() for n, p in model.named_parameters()}
            out = functional_call(model, fast, (x,))
            grads = torch.autograd.grad((out - y).pow(2).mean(), list(fast.values()), create_graph=True)
            moved = zip(fast.items(), grads, strict=True)
            fast = {n: p - rates[n] * g for (n, p), g in moved}  # cause: GS302
            total += (out - y).pow(2).mean() / 2
        opt.zero_grad()
        total.backward()  # effect: GS302
        opt.step()


def good_adapted_parameters_in_the_loss() -> None:
    import torch
    from torch import nn
    from torch.func import functional_call

    torch.manual_seed(0)
    model, rates = nn.Linear(3, 1), nn.ParameterDict()
    for name, p in model.named_parameters():
        rates[name] = nn.Parameter(torch.full_like(p, 0.1))
    opt = torch.optim.SGD([*model.parameters(), *rates.parameters()], lr=0.05)
    for _ in range(6):
        total = torch.zeros(())
        for _ in range(2):
            x, y = torch.randn(8, 3), torch.randn(8, 1)
            fast = {n: p.clone() for n, p in model.named_parameters()}
            out = functional_call(model, fast, (x,))
            grads = torch.autograd.grad((out - y).pow(2).mean(), list(fast.values()), create_graph=True)
            fast = {n: p - rates[n] * g for (n, p), g in zip(fast.items(), grads, strict=True)}
            total += (functional_call(model, fast, (x,)) - y).pow(2).mean() / 2
        opt.zero_grad()
        total.backward()
        opt.step()


def good_features_by_a_hook_and_the_head_left_over() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = {}
    backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 100))
    backbone[1].register_forward_hook(lambda module, given, result: features.update(last=result))
    projector = nn.Linear(16, 3)
    adam = torch.optim.Adam([*backbone.parameters(), *projector.parameters()])
    for _ in range(40):
        picture = torch.randn(32, 8)
        _ = backbone(picture)
        loss = projector(features["last"]).pow(2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()


def bad_one_of_two_results() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.back, self.ahead = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            h = self.body(x).relu()
            return x - self.back(h), self.ahead(h)

    net = Block()
    opt = torch.optim.Adam(net.parameters())
    for _ in range(6):
        x = torch.randn(16, 8)
        backcast, forecast = net(x)  # cause: GS302  # noqa: RUF059
        opt.zero_grad()
        (forecast - x[:, :2]).pow(2).mean().backward()  # effect: GS302
        opt.step()


def good_optimizer_that_carries_a_schedule() -> None:
    """Its one parameter is there because an optimizer needs one: what is read is the rate."""
    import torch
    from torch import nn

    class Decay:
        def __init__(self, rate: float, turns: int) -> None:
            self.sgd = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=rate)
            self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.sgd, turns)

        def step(self) -> None:
            self.schedule.step()

        def rate(self) -> float:
            return float(self.sgd.param_groups[0]["lr"])

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = Decay(0.5, 6)
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        decay.step()
        with torch.no_grad():
            model.weight.mul_(1 - 0.01 * decay.rate())


def bad_first_turn_in_no_loss() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, k) for k in (1, 3, 4)])

        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            out = []
            for i in range(3):
                given = self.layers[i](x[:, i])  # cause: GS302
                out.append(given)
            return out

    net = Heads()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        out = net(torch.randn(8, 3, 4))
        loss = torch.stack([out[j].pow(2).mean() for j in range(1, 3)]).sum()
        opt.zero_grad()
        loss.backward()  # effect: GS302
        opt.step()


def bad_sibling_called_in_its_place() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(6, 5)
            self.left = nn.Linear(5, 3)
            self.right = nn.Linear(5, 3)

        def forward(self, x):
            h = self.hidden(x).relu()
            a, b = self.left(h), self.left(h)  # cause: GS302
            return a + torch.randn_like(a) * (0.5 * b).exp(), a, b

    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        z, a, b = model(torch.randn(8, 6))
        loss = (z - 1).pow(2).mean() + 0.1 * (a.pow(2) + b.exp() - b - 1).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS302
        opt.step()


def bad_template_kept_in_the_model() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.pattern_layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)  # cause: GS302
            self.body = nn.TransformerEncoder(self.pattern_layer, 2)
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.body(x)).mean(1)

    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        x = torch.randn(8, 4, 8)
        opt.zero_grad()
        (model(x) - x.mean((1, 2))[:, None]).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_tuple_bound_anew() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.look, self.mix = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 8)

        def forward(self, tokens):
            out, _ = self.look(tokens, tokens, tokens, need_weights=False)  # cause: GS302
            out = self.mix(tokens)
            return out + tokens

    block, head = Block(), nn.Linear(8, 1)
    opt = torch.optim.Adam([*block.parameters(), *head.parameters()])
    for _ in range(4):
        x = torch.randn(4, 6, 8)
        loss = (head(block(x)) - x.sum(-1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS302
        opt.step()


def bad_entry_of_a_dict_never_read() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class TwoStream(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rgb = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
            self.flow = nn.Sequential(nn.Linear(3, 8), nn.ReLU())
            self.join = nn.Bilinear(8, 8, 2)

        def forward(self, frame, motion):
            streams = {"rgb": self.rgb(frame), "flow": self.flow(motion)}  # cause: GS302
            a, b = streams["rgb"], streams["rgb"].tanh()
            return self.join(a, b)

    net = TwoStream()
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for _ in range(4):
        frame, motion = torch.randn(8, 4), torch.randn(8, 3)
        action = (frame[:, 0] > motion[:, 0]).long()
        loss = nn.functional.cross_entropy(net(frame, motion), action)
        opt.zero_grad()
        loss.backward()  # effect: GS302
        opt.step()


def bad_handed_out_and_never_used() -> None:  # fix: by hand
    """`forward` gives it to who asks for it: taken away, that fails."""
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 2)
            self.slack = nn.Parameter(torch.ones(3))  # cause: GS302

        def forward(self, x):
            return self.body(x), self.slack

    encoder = Encoder()
    opt = torch.optim.Adam(encoder.parameters(), 1e-2)
    for _ in range(4):
        code, _ = encoder(torch.randn(8, 4))
        opt.zero_grad()
        code.pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_block_of_each_turn_kept_and_dropped() -> None:  # fix: by hand
    """Each turn calls both layers of the block, and reads nothing of the turn before."""
    import torch
    from torch import nn

    class Filter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.mean = nn.Linear(4, 4), nn.Linear(4, 1)
            self.std = nn.Sequential(nn.Linear(4, 1), nn.Softplus())

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
            loss, stds = torch.zeros(()), []
            for part in x:
                h = torch.tanh(self.inner(part))
                loss = loss + (self.mean(h) - 1).pow(2).mean()
                stds.append(self.std(h))  # cause: GS302
            return loss, stds

    model = Filter()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        opt.zero_grad()
        loss, _ = model(torch.randn(3, 8, 4))
        loss.backward()  # effect: GS302
        opt.step()


def bad_block_called_in_turns_without_a_break() -> None:  # fix: by hand
    import torch
    from torch import nn

    body, noise = nn.Linear(4, 1), nn.Sequential(nn.Linear(4, 1), nn.Softplus())
    opt = torch.optim.Adam([*body.parameters(), *noise.parameters()], lr=1e-2)
    for _ in range(3):
        x, drawn = torch.randn(8, 4), []
        for _ in range(3):
            drawn.append(noise(x))  # cause: GS302
        opt.zero_grad()
        body(x).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_sum_of_two_in_each_turn() -> None:  # fix: by hand
    """`sum()` makes two additions in each turn; what they make of the mixture of one turn, no other one reads."""
    import torch
    from torch import nn

    weights = nn.ParameterList([nn.Parameter(torch.randn(4, 4)) for _ in range(2)])
    mix, scale, out = nn.Parameter(torch.randn(2)), nn.Parameter(torch.ones(4)), nn.Linear(4, 1)
    opt = torch.optim.SGD([*weights, *out.parameters()], lr=1e-2)
    opt_of_mix = torch.optim.Adam([mix, scale], lr=1e-2)
    for _ in range(3):
        x, kept = torch.randn(8, 4), []
        for w in weights:
            mixed = sum([w * mix[0], w * mix[1]])  # cause: GS302
            kept.append(mixed)
        opt.zero_grad()
        opt_of_mix.zero_grad()
        out(x * scale).pow(2).mean().backward()  # effect: GS302
        opt.step()
        opt_of_mix.step()


def bad_state_that_each_turn_reads() -> None:  # fix: by hand
    import torch
    from torch import nn

    body = nn.Linear(4, 1)
    cell = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.Adam([*body.parameters(), *cell.parameters()], lr=1e-2)
    for _ in range(3):
        x = state = torch.randn(8, 4)
        for _ in range(3):
            state = cell(state)  # cause: GS302
        opt.zero_grad()
        body(x).pow(2).mean().backward()  # effect: GS302
        opt.step()


def bad_state_that_each_turn_begins_anew() -> None:
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.to_hidden, self.to_out = nn.Linear(5 + 8, 8), nn.Linear(5 + 8, 2)

        def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            both = torch.cat([x, hidden], 1)
            return self.to_out(both), torch.tanh(self.to_hidden(both))

    cell = Cell()
    opt = torch.optim.SGD(cell.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(6, 7, 5), torch.randint(0, 2, (6,))
        for t in range(7):
            hidden = torch.zeros(6, 8)
            out, hidden = cell(x[:, t], hidden)  # cause: GS302
        opt.zero_grad()
        nn.functional.cross_entropy(out, y).backward()  # effect: GS302
        opt.step()


def bad_block_that_gives_out_what_it_was_given() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(6, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.mix(torch.relu(x))

    class Block(nn.Module):
        def __init__(self, residual: nn.Module | None = None) -> None:
            super().__init__()
            self.norm, self.inner, self.residual = nn.LayerNorm(6), Inner(), residual

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(self.norm(x))  # cause: GS302
            if self.residual is not None:
                x = self.residual(x, y)
            return x

    lift, blocks, last = nn.Linear(4, 6), nn.Sequential(Block(), Block()), nn.Linear(6, 2)
    opt = torch.optim.SGD([*lift.parameters(), *blocks.parameters(), *last.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = (last(blocks(lift(x))) - x[:, :2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS302
        opt.step()


def good_block_with_its_result() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self, residual: nn.Module | None = None) -> None:
            super().__init__()
            self.norm, self.inner, self.residual = nn.LayerNorm(6), nn.Linear(6, 6), residual

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(self.norm(x))
            if self.residual is not None:
                y = self.residual(x, y)
            return y

    lift, blocks, last = nn.Linear(4, 6), nn.Sequential(Block(), Block()), nn.Linear(6, 2)
    opt = torch.optim.SGD([*lift.parameters(), *blocks.parameters(), *last.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = (last(blocks(lift(x))) - x[:, :2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_backbone_without_its_head() -> None:
    import torch
    from torch import nn

    class Backbone(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.head = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown: torch.Tensor = self.head(torch.relu(self.two(torch.relu(self.one(x)))))
            return shown

    class Speaker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone, self.last = Backbone(), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.relu(self.backbone.one(x))
            x = torch.relu(self.backbone.two(x))
            shown: torch.Tensor = self.last(x)
            return shown

    model = Speaker()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
