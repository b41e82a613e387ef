"""More programs of GS102: each bad one is reported at its marks, each good one by no rule."""


def bad_behind_another() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        z = trunk(torch.randn(8, 4))
        z = z / z.detach().norm(dim=1, keepdim=True)
        features = z.data  # cause: GS102
        loss = head(features).pow(2).mean()
        (loss + (head(features) - loss).mean().detach()).backward()  # effect: GS102
        opt.step()


def bad_two_in_a_line() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        states, last = rnn(torch.randn(5, 8, 4))
        states, last = states.data, last.data  # cause: GS102
        (head(last).mean() + head(states).mean()).pow(2).backward()  # effect: GS102
        opt.step()


def bad_term() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, blur = nn.Linear(4, 4), nn.AvgPool1d(2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        made = net(x)
        seen = made.data  # cause: GS102
        smooth = nn.functional.mse_loss(blur(seen), blur(x))
        loss = nn.functional.mse_loss(made, x) + 0.1 * smooth
        loss.backward()  # effect: GS102
        opt.step()


def bad_one_that_cuts_beside_one_that_is_read() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        states = trunk(torch.randn(8, 4))
        made = head(states.data / head.weight.data.norm()).pow(2)  # cause: GS102
        made.mean().backward()  # effect: GS102
        opt.step()


def bad_weight_of_the_same_term() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        logged = nn.functional.log_softmax(net(torch.randn(8, 4)), dim=1)[:, 0]
        sure = logged.data.exp()  # cause: GS102
        loss = (-((1 - sure) ** 2) * logged).mean()
        loss.backward()  # effect: GS102
        opt.step()


def bad_written_between_two_layers() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = net(torch.randn(8, 4))
        values = hidden.data
        values.mul_(0.1)  # cause: GS102
        loss = head(hidden).pow(2).mean()  # effect: GS102
        loss.backward()
        opt.step()


def good_sizes_of_weights_that_are_printed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        sizes = (
            net.weight.data.abs().max(),
            net.bias.data.abs().max(),
        )
    print(sizes)


def good_clipped_where_it_has_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        for p in net.parameters():
            if hasattr(p, "data"):
                p.data.clamp_(-1, 1)


def good_asked_for_its_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        for p in net.parameters():
            if hasattr(p, "data"):
                p.grad = None


def good_term_with_a_layer_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, probe = nn.Linear(4, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*net.parameters(), *probe.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        made = net(x)
        fit = nn.functional.mse_loss(made, x)
        probed = nn.functional.cross_entropy(probe(made.data), torch.randint(0, 2, (8,)))
        (fit + probed).backward()
        opt.step()


def good_cost_of_what_was_chosen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores, labels = net(torch.randn(8, 4)), torch.randint(0, 3, (8,))
        chosen = scores.data.max(dim=1)[1]
        cost = (chosen != labels).float().mean()
        picked = scores.gather(1, chosen[:, None]).mean() - scores.gather(1, labels[:, None]).mean()
        (picked + cost).backward()
        opt.step()


def good_target_network() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    online = nn.Linear(4, 1)
    target = copy.deepcopy(online)
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        wanted = target(x).data
        opt.zero_grad()
        (online(x) - wanted - 1).pow(2).mean().backward()
        opt.step()
        for ours, theirs in zip(online.parameters(), target.parameters(), strict=True):
            theirs.data.mul_(0.9).add_(ours.data, alpha=0.1)


def good_straight_through() -> None:
    import torch

    w = torch.tensor([0.3, 0.8], requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        rounded = w + (w.round() - w).data
        (rounded - 2).pow(2).sum().backward()
        opt.step()


def good_gan() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(2):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.data).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def good_update_of_data_from_data() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        (w * torch.randn(3)).sum().backward()
        w.data = w.data - 0.1 * w.grad.data
        w.grad = None


def good_begun_and_measured_by_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    nn.init.xavier_normal_(net.weight.data)
    net.bias.data.zero_()
    net.weight.data[0, :] = 0
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores, labels = net(torch.randn(8, 4)), torch.randint(0, 3, (8,))
        loss = nn.functional.cross_entropy(scores, labels)
        loss.backward()
        opt.step()
        right = (scores.data.max(1)[1] == labels).sum().item() / scores.data.size(0)
        noise = net.weight.data.new(3, 4).normal_()
        print(loss.data, right, noise.shape, scores.data.numpy().mean())


def good_averaged_and_put_back() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    average = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for theirs, ours in zip(average.parameters(), net.parameters(), strict=True):
                theirs.data = theirs.data * 0.9 + ours.data * 0.1
    for theirs, ours in zip(average.parameters(), net.parameters(), strict=True):
        ours.data.copy_(theirs.data)
    print(net(torch.ones(1, 4)).data)


def good_shifted_by_its_highest() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = net(torch.randn(8, 4))
        highest = scores.data.max()
        total = torch.log(torch.exp(scores - highest).sum(1)) + highest
        (total - scores[:, 0]).mean().backward()
        opt.step()


def good_advantage_of_a_shared_trunk() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, actor, critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *actor.parameters(), *critic.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = torch.relu(trunk(torch.randn(8, 4)))
        choice, value = torch.distributions.Categorical(logits=actor(hidden)), critic(hidden)[:, 0]
        taken = choice.sample()
        returns = taken.float()
        wanted = -(choice.log_prob(taken) * (returns - value.data)).mean()
        (wanted + 0.5 * (returns - value).pow(2).mean()).backward()
        opt.step()


def good_noise_of_the_same_kind() -> None:
    """`.data.new(…)` takes the dtype and the device, and none of the numbers."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 8), nn.Linear(8, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        h = layer(x)
        kept = h.data.new(1, 8).bernoulli_(0.5) / 0.5
        noise = h.data.clone().normal_()
        opt.zero_grad()
        nn.functional.cross_entropy(head(h * kept * (1 + 0.1 * noise)), (x[:, 0] > 0).long()).backward()
        opt.step()


def good_less_the_loss_before() -> None:
    """A learned update is judged by how much each step gains: the loss before is a term of its own."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    update = nn.Linear(3, 3)
    opt = torch.optim.Adam(update.parameters(), 0.01)
    for _ in range(6):
        weights, before, gained = torch.randn(3), torch.zeros(1), torch.zeros(1)
        for step in range(8):
            weights = weights.detach() - 0.1 * update(weights.detach())
            loss = weights.pow(2).sum()
            gained = gained + loss - torch.autograd.Variable(before)
            before = loss.data
            if step % 4 == 3:
                opt.zero_grad()
                gained.backward()
                opt.step()
                gained = torch.zeros(1)


def good_the_axes_of_a_view_are_turned() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 4)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        hidden = layer(torch.randn(4, 4))
        view = hidden.data
        view.transpose_(0, 1)  # its sizes and strides: what lies in memory stays
        opt.zero_grad()
        (hidden * hidden).sum().backward()
        opt.step()
        print(view.mean())


def good_zeros_made_of_the_weights() -> None:
    """`0 * p.data` as `zeros_like(p)`: the Fisher matrix of elastic weights is a constant."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 3)
    opt = torch.optim.SGD(net.parameters(), 0.05)
    old = {n: p.data.clone() for n, p in net.named_parameters()}
    fisher = {n: 0 * p.data for n, p in net.named_parameters()}
    for _ in range(3):
        x = torch.randn(8, 6)
        net.zero_grad()
        nn.functional.cross_entropy(net(x), x[:, :3].argmax(1)).backward()
        for n, p in net.named_parameters():
            fisher[n] += p.grad.data.pow(2) / 3  # type: ignore[union-attr]
    for _ in range(4):
        x = torch.randn(8, 6)
        far = sum((fisher[n] * (old[n] - p).pow(2)).sum() for n, p in net.named_parameters())
        loss = nn.functional.cross_entropy(net(x), x[:, 3:].argmax(1)) + 10 * far
        opt.zero_grad()
        loss.backward()
        opt.step()
