"""More programs of GS304: each bad one is reported at its marks, each good one by no rule."""


def bad_detached_before_its_mean() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).detach().pow(2).mean().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_detached_within_the_loss() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x).detach(), y).requires_grad_(True)  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_required_on_the_next_line() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)).detach() ** 2).mean()  # cause: GS304
        loss.requires_grad_()
        loss.backward()  # effect: GS304
        opt.step()


def bad_made_without_gradients() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        with torch.no_grad():
            out = model(torch.randn(8, 4))
        loss = out.pow(2).mean().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_number_put_back() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        total = torch.tensor(loss.item(), requires_grad=True)  # cause: GS304
        total.backward()  # effect: GS304
        opt.step()


def bad_values_put_back_as_a_list() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        hidden = encoder(torch.randn(8, 4))
        hidden = torch.tensor(hidden.tolist(), requires_grad=True)  # cause: GS304
        loss = decoder(hidden).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def bad_values_put_back_by_numpy() -> None:
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        hidden = encoder(torch.randn(8, 4))
        loss = decoder(torch.tensor(hidden.detach().cpu().numpy(), requires_grad=True))  # cause: GS304
        opt.zero_grad()
        loss.pow(2).mean().backward()  # effect: GS304
        opt.step()


def bad_item_put_back() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        losses = [model(torch.randn(8, 4)).pow(2).mean().item() for _ in range(2)]
        loss = torch.tensor(losses, requires_grad=True).mean()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_loss_by_way_of_numpy() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        number = model(torch.randn(8, 4)).pow(2).mean().detach().numpy()
        loss = torch.from_numpy(number).requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_loss_of_a_float() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        number = float(model(torch.randn(8, 4)).pow(2).mean())
        loss = torch.Tensor([number]).requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_loss_by_numpy() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.autograd import Variable

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        scores = model(torch.randn(8, 3)).detach().numpy()
        margin = (1 - scores[:, 0] + scores[:, 1]).clip(min=0)
        loss = Variable(torch.Tensor([margin.mean()]), requires_grad=True)  # cause: GS304
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def bad_logged_after_the_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.detach().requires_grad_().backward()  # cause: GS304  # effect: GS304
        opt.step()
        f"{loss.item():.3f}"


def bad_loss_of_one_of_two() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        opt_g.zero_grad()
        fake = generator(torch.randn(4, 2))
        critic(fake).mean().neg().backward()
        opt_g.step()
        opt_c.zero_grad()
        loss = critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()
        loss.detach().requires_grad_().backward()  # cause: GS304  # effect: GS304
        opt_c.step()


def bad_loss_beside_a_detach() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        opt_c.zero_grad()
        fake = generator(torch.randn(4, 2))
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        loss = critic(fake).mean().neg().detach().requires_grad_()  # cause: GS304
        loss.backward()  # effect: GS304
        opt_g.step()


def bad_term() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        fit = model(torch.randn(8, 3)).pow(2).mean()
        size = torch.tensor(model.weight.abs().sum().item(), requires_grad=True)  # cause: GS304
        (fit + 0.1 * size).backward()  # effect: GS304
        opt.step()


def bad_term_made_a_leaf() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        left = model(torch.randn(8, 3)).pow(2).mean()
        right = model(torch.randn(8, 3)).abs().mean().detach().requires_grad_()  # cause: GS304
        ((left + right) / 2).backward()  # effect: GS304
        opt.step()


def good_terms_without_a_past() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scale = torch.tensor(0.0, requires_grad=True)
    opt.add_param_group({"params": [scale]})
    for _ in range(3):
        opt.zero_grad()
        fit = model(torch.randn(8, 3)).pow(2).mean()
        f"{fit.item():.3f}"
        (fit * (-scale).exp() + scale + torch.tensor(0.1, requires_grad=True)).backward()
        opt.step()


def good_setting_among_the_parameters() -> None:
    import torch
    from torch import nn

    class Series(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.rate = nn.Parameter(torch.tensor(0.5))  # drawn with, as NumPy's generators want it

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            terms = 1 + int(10 * self.rate.item())
            total = torch.tensor(0.0).to(x)
            for k in range(terms):
                total = total + self.layer(x).pow(2).mean() / (k + 1)
            return total

    net = Series()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).backward()
        opt.step()


def good_adversarial_example() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        near = x.clone().detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(model(near).pow(2).mean(), near)
        opt.zero_grad()
        model((near + 0.1 * slope.sign()).detach()).pow(2).mean().backward()
        opt.step()


def good_split_backward() -> None:
    import torch
    from torch import nn

    front, back = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*front.parameters(), *back.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        sent = front(torch.randn(8, 4))
        received = sent.detach().requires_grad_()
        back(received).pow(2).mean().backward()
        sent.backward(received.grad)
        opt.step()


def bad_log_probabilities_beside_a_detached_advantage() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
    for _ in range(3):
        states, returns = torch.randn(5, 4), torch.randn(5)
        chosen = [torch.log_softmax(actor(state), dim=0)[0] for state in states]
        log_probs = torch.tensor(chosen)  # cause: GS304
        values = critic(states).squeeze(1)
        advantages = (returns - values).detach()
        loss = -(log_probs * advantages).mean() + (returns - values).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def good_loss_kept_above_a_level() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 3, (16,)))
        level = torch.tensor(0.9 * loss.detach().numpy())
        opt.zero_grad()
        ((loss - level).abs() + level).backward()
        opt.step()


def bad_inner_copies() -> None:
    import torch

    def net(x: torch.Tensor, p: list[torch.Tensor]) -> torch.Tensor:
        return torch.tanh(x @ p[0]) @ p[1]

    class Inner:
        def __init__(self, params: list[torch.Tensor]) -> None:
            self.params = [p.detach().requires_grad_() for p in params]

        def step(self, loss: torch.Tensor) -> None:
            grads = torch.autograd.grad(loss, self.params)
            new = [p - 0.1 * g for p, g in zip(self.params, grads, strict=True)]
            self.params = [p.detach().requires_grad_() for p in new]  # cause: GS304

    torch.manual_seed(0)
    meta = [torch.randn(3, 4).requires_grad_(), torch.randn(4, 1).requires_grad_()]
    opt = torch.optim.Adam(meta, lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        for _ in range(2):
            x = torch.randn(8, 3)
            inner = Inner(meta)
            inner.step(net(x, inner.params).sub(1).pow(2).mean())
            net(x, inner.params).sub(1).pow(2).mean().backward()  # effect: GS304
        opt.step()


def good_inner_copies_of_first_order() -> None:
    import torch

    def net(x: torch.Tensor, p: list[torch.Tensor]) -> torch.Tensor:
        return torch.tanh(x @ p[0]) @ p[1]

    torch.manual_seed(0)
    meta = [torch.randn(3, 4).requires_grad_(), torch.randn(4, 1).requires_grad_()]
    opt = torch.optim.Adam(meta, lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        for _ in range(2):
            x = torch.randn(8, 3)
            fast = [p.detach().requires_grad_() for p in meta]
            grads = torch.autograd.grad(net(x, fast).sub(1).pow(2).mean(), fast)
            fast = [(p - 0.1 * g).detach().requires_grad_() for p, g in zip(fast, grads, strict=True)]
            outer = torch.autograd.grad(net(x, fast).sub(1).pow(2).mean(), fast)
            for p, g in zip(meta, outer, strict=True):
                p.grad = g.clone() if p.grad is None else p.grad + g
        opt.step()


def good_langevin_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    energy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    start = nn.Linear(2, 2)
    opt = torch.optim.Adam([*energy.parameters(), *start.parameters()], lr=0.01)
    for _ in range(5):
        noise = torch.randn(16, 2)
        x = start(noise).detach().requires_grad_()
        for _ in range(3):
            (push,) = torch.autograd.grad(energy(x).sum(), x)
            x = (x - 0.1 * push + 0.05 * torch.randn_like(x)).detach().requires_grad_()
        opt.zero_grad()
        loss = energy(torch.randn(16, 2)).mean() - energy(x.detach()).mean()
        loss = loss + (start(noise) - x.detach()).pow(2).mean()
        loss.backward()
        opt.step()


def bad_losses_in_a_new_tensor() -> None:
    import torch
    from torch import nn

    one, two = nn.Linear(4, 1), nn.Linear(4, 1)
    weights = nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([*one.parameters(), *two.parameters(), weights], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        both = torch.tensor([one(x).pow(2).mean(), two(x).pow(2).mean()])  # cause: GS304
        loss = (both / weights**2).sum() + weights.prod().log()
        loss.backward()  # effect: GS304
        opt.step()


def bad_count_of_comparisons() -> None:  # fix: by hand
    import math

    import torch
    from torch import nn

    def counted(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        count = 0
        for p, y in zip(outputs, labels, strict=True):
            if (p > 0.5) == (y > 0.5):
                count += 1
            else:
                count += 2
        return torch.tensor(math.log10(count), requires_grad=True)  # cause: GS304

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = counted(model(x)[:, 0], (x[:, 0] > 0).float())
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def bad_hits_made_to_require_a_gradient() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
        wrong = 0
        for row, label in zip(model(x), y, strict=True):
            if row.argmax() != label:
                wrong += 1
        loss = torch.tensor(wrong / 6).requires_grad_()  # cause: GS304
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def good_comparisons_are_counted_beside() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        labels = (x[:, 0] > 0).float()
        outputs = model(x)[:, 0]
        weight = 1.0
        for p, y in zip(outputs, labels, strict=True):
            if (p > 0.5) != (y > 0.5):
                weight += 0.1
        loss = torch.tensor(weight) * nn.functional.binary_cross_entropy(outputs, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_computed_of_numbers_that_left() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    flow = nn.Linear(4, 6)
    opt = torch.optim.SGD(flow.parameters(), lr=0.1)
    turn = torch.randn(6, 2)
    for _ in range(4):
        moved = flow(torch.randn(8, 4))
        places = torch.tensor(moved.int().numpy(), dtype=torch.float32)
        there = places @ turn
        there.requires_grad = True  # cause: GS304
        loss = there.abs().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def bad_term_of_whole_numbers() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    scores = nn.Linear(4, 6)
    opt = torch.optim.SGD(scores.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        out = scores(x)
        chosen = torch.tensor(out.detach().numpy().argmax(1), dtype=torch.float32)
        chosen.requires_grad_()  # cause: GS304
        loss = (out - x[:, :1]).pow(2).mean() + (chosen - 2).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS304
        opt.step()


def good_points_of_an_input() -> None:
    """A tensor made of numbers that a step of the input itself left: its gradient is what is wanted."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge = nn.Linear(4, 3)
    opt = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        nn.functional.cross_entropy(judge(x), x[:, :3].argmax(1)).backward()
        opt.step()
        opt.zero_grad()
        attacked = torch.tensor(x.numpy() + 0.1, requires_grad=True)
        (gradient,) = torch.autograd.grad(judge(attacked).pow(2).mean(), attacked)
        judge(attacked.detach() + gradient.sign()).argmax(1).numpy()


def bad_detached_and_wrapped_in_one_call() -> None:
    import torch
    from torch import nn
    from torch.autograd import Variable

    torch.manual_seed(0)
    pairs, labels = nn.Linear(4, 6), nn.Linear(4, 3)
    measure = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam([*pairs.parameters(), *labels.parameters()], lr=0.01)
    for _ in range(3):
        seen, wanted = torch.randn(8, 4), torch.randint(0, 2, (8, 3)).float()
        said = labels(seen)
        tagged = Variable(measure(said.detach().cpu(), wanted), requires_grad=True)  # cause: GS304
        opt.zero_grad()
        (pairs(seen).pow(2).mean() + tagged).backward()  # effect: GS304
        opt.step()


def bad_required_where_a_function_of_the_library_computed_it() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4))
        loss = F.cross_entropy(scores.detach(), torch.randint(0, 3, (8,)))  # cause: GS304
        loss.requires_grad_(True)
        loss.backward()  # effect: GS304
        opt.step()


def bad_output_made_a_leaf_on_the_line_of_an_if() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, smooth = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), False
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        inputs, targets = torch.randn(6, 4), torch.randint(3, (6,))
        logits = net(inputs)
        if not smooth: logits = logits.detach().requires_grad_()  # fmt: skip # noqa: E701 # cause: GS304
        loss = nn.functional.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()  # effect: GS304
        optimizer.step()


def bad_loss_made_anew_of_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.zeros(8, dtype=torch.long))
        loss = torch.tensor(loss, requires_grad=True)  # cause: GS304
        loss.backward()  # effect: GS304
        opt.step()


def bad_term_made_anew_of_a_tensor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        out = net(torch.randn(8, 6))
        size = out.square().mean()
        loss = nn.functional.cross_entropy(out, torch.zeros(8, dtype=torch.long))
        (loss + torch.tensor(size)).backward()  # cause: GS304  # effect: GS304
        opt.step()


def bad_hidden_made_anew_in_another_type() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(6, 8), nn.Linear(8, 2).double()
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        hidden = body(torch.randn(8, 6)).tanh()
        hidden = torch.tensor(hidden, dtype=torch.float64)  # cause: GS304
        head(hidden).square().mean().backward()  # effect: GS304
        opt.step()
