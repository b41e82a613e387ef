"""More programs of GS315: each bad one is reported at its marks, each good one by no rule."""


def bad_detached() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        scores = net(torch.randn(16, 4))
        right = nn.functional.cross_entropy(scores, torch.randint(0, 3, (16,)))
        small = scores.pow(2).mean()
        loss = right + 0.01 * small.detach()  # cause: GS315
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def bad_detached_in_both_arguments() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, kl_divergence

    body, mean, scale, decoder = nn.Linear(6, 16), nn.Linear(16, 2), nn.Linear(16, 2), nn.Linear(2, 6)
    layers = nn.ModuleList([body, mean, scale, decoder])
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    prior = Normal(torch.zeros(2), torch.ones(2))
    for _ in range(3):
        x = torch.randn(16, 6)
        hidden = torch.relu(body(x))
        where, wide = mean(hidden), nn.functional.softplus(scale(hidden))
        kl = kl_divergence(Normal(where.detach(), wide.detach()), prior).mean()  # cause: GS315
        loss = nn.functional.mse_loss(decoder(Normal(where, wide).rsample()), x) + 0.1 * kl
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def bad_under_no_grad() -> None:  # fix: by hand
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        mean, log_var = encoder(x).chunk(2, dim=1)
        drawn = mean + torch.randn_like(mean) * (log_var / 2).exp()
        with torch.no_grad():  # cause: GS315
            kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).mean()
        loss = nn.functional.mse_loss(decoder(drawn), x) + kl
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def bad_features_kept_under_no_grad() -> None:
    import torch
    from torch import nn

    student = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    teacher = nn.Sequential(nn.Linear(6, 8), nn.ReLU()).requires_grad_(False)
    head = nn.Linear(8, 3)
    opt = torch.optim.Adam([*student.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, more = torch.randn(16, 6), torch.randn(32, 6)
        loss = nn.functional.cross_entropy(head(student(x)), torch.randint(0, 3, (16,)))
        with torch.no_grad():  # cause: GS315
            ours = student(more)
            theirs = teacher(more)
        loss = loss + 5.0 * nn.functional.mse_loss(ours, theirs)
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def bad_alone_under_no_grad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    head = nn.Linear(8, 3)
    opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, more = torch.randn(16, 6), torch.randn(32, 6)
        loss = nn.functional.cross_entropy(head(model(x)), torch.randint(0, 3, (16,)))
        with torch.no_grad():  # cause: GS315
            quiet = model(more)
        loss = loss + quiet.pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def good_own_outputs_under_no_grad_as_the_target() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(model(x), torch.randint(0, 3, (16,)))
        with torch.no_grad():
            target = model(x + 0.01 * torch.randn_like(x)).softmax(1)
        loss = loss + nn.functional.mse_loss(model(x).softmax(1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_numbers_of_a_function() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def penalty() -> float:
        total = 0.0
        for p in net.parameters():
            total += p.pow(2).sum().item()  # cause: GS315
        return total

    for _ in range(3):
        right = nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 3, (16,)))
        loss = right + 1e-3 * penalty()
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def bad_generator_step_on_detached_images() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    opt_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        real, made = torch.randn(8, 4), generator(torch.randn(8, 3))
        opt_critic.zero_grad()
        (critic(made.detach()).mean() - critic(real).mean()).backward()
        opt_critic.step()
        fooled = -critic(made.detach()).mean()  # cause: GS315
        near = nn.functional.l1_loss(made, real)
        opt_generator.zero_grad()
        (fooled + near).backward()  # effect: GS315
        opt_generator.step()


def bad_number_that_is_noted_too() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    history = []
    for _ in range(3):
        scores = net(torch.randn(16, 4))
        right = nn.functional.cross_entropy(scores, torch.randint(0, 3, (16,)))
        small = scores.pow(2).mean()
        small = small.detach().item()  # cause: GS315
        history.append(round(small, 3))
        loss = right + 0.01 * small
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def good_straight_through_into_a_frozen_decoder() -> None:
    import torch
    from torch import nn

    encoder, codes, decoder = nn.Linear(6, 3), nn.Embedding(5, 3), nn.Linear(3, 6)
    decoder.requires_grad_(False)
    opt = torch.optim.Adam([*encoder.parameters(), *codes.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        code = codes(torch.cdist(z, codes.weight).argmin(1))
        commitment = 0.25 * (z - code.detach()).pow(2).mean() + (z.detach() - code).pow(2).mean()
        loss = (decoder(z + (code - z).detach()) - x).pow(2).mean() + commitment
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_other_number_same_gradient() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        scores, target = net(torch.randn(16, 4)), torch.randint(0, 3, (16,))
        right = nn.functional.cross_entropy(scores, target)
        easy = (scores.softmax(1) - nn.functional.one_hot(target, 3)).pow(2).mean()
        loss = easy + (right - easy).detach()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weight_from_numbers() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        scores = net(torch.randn(16, 4))
        right = nn.functional.cross_entropy(scores, torch.randint(0, 3, (16,)))
        small = scores.pow(2).mean()
        weight = scores.abs().max().item()
        loss = right + weight * small + right.detach() / small.detach() * small + 3
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_critic_trained_by_its_own_pass() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        choice, value = net(torch.randn(16, 4)).chunk(2, dim=1)
        value_loss = (value - 1).pow(2).mean()
        opt.zero_grad()
        value_loss.backward(retain_graph=True)
        (choice.pow(2).mean() + value_loss.detach()).backward()
        opt.step()


def good_two_heads_teach_each_other() -> None:
    import torch
    from torch import nn

    trunk, first, second = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 3)
    opt = torch.optim.Adam([*trunk.parameters(), *first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(3):
        hidden, target = torch.relu(trunk(torch.randn(16, 4))), torch.randint(0, 3, (16,))
        one, other = first(hidden), second(hidden)
        loss = nn.functional.cross_entropy(one, target) + nn.functional.cross_entropy(other, target)
        loss = (
            loss + nn.functional.mse_loss(one, other.detach()) + nn.functional.mse_loss(other, one.detach())
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_probe_on_detached_features() -> None:
    import torch
    from torch import nn

    trunk, head, probe = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)
    opt = torch.optim.Adam([*trunk.parameters(), *head.parameters(), *probe.parameters()], lr=0.01)
    for _ in range(3):
        hidden = torch.relu(trunk(torch.randn(16, 4)))
        loss = nn.functional.cross_entropy(head(hidden), torch.randint(0, 3, (16,)))
        loss = loss + nn.functional.cross_entropy(probe(hidden.detach()), torch.randint(0, 2, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_triplets_from_arrays() -> None:
    import numpy as np
    import torch
    from torch import nn

    net, head = nn.Linear(6, 4), nn.Linear(4, 3)
    opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        one, other = net(torch.randn(16, 6)), net(torch.randn(16, 6))
        hard = np.where((one - other).norm(dim=1).detach().numpy() > 0.1)[0]
        a = torch.from_numpy(one.detach().cpu().numpy()[hard])  # cause: GS315
        b = torch.from_numpy(other.detach().cpu().numpy()[hard])
        near = (a - b).pow(2).sum(1).mean()
        loss = nn.functional.cross_entropy(head(one), torch.randint(0, 3, (16,))) + near
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def good_weights_of_pairs_from_arrays() -> None:
    import numpy as np
    import torch
    from torch import nn

    net, head = nn.Linear(6, 4), nn.Linear(4, 3)
    opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        one, other = net(torch.randn(16, 6)), net(torch.randn(16, 6))
        hard = np.where((one - other).norm(dim=1).detach().numpy() > 0.1)[0]
        far = torch.from_numpy((one - other).norm(dim=1).detach().numpy()[hard])
        weight = far.mean() / far.max()
        near = (one[hard] - other[hard]).pow(2).sum(1).mean()
        loss = nn.functional.cross_entropy(head(one), torch.randint(0, 3, (16,))) + weight * near
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_returns_of_arrays() -> None:
    import numpy as np
    import torch
    from torch import nn

    policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(3):
        seen = torch.randn(16, 4)
        scores, worth = policy(seen), value(seen).squeeze(1)
        drawn = torch.distributions.Categorical(logits=scores)
        action = drawn.sample()
        returns, after = np.zeros(16, dtype=np.float32), 0.0
        own = worth.detach().numpy()
        for at in reversed(range(16)):
            after = float(action[at] == 0) + 0.9 * after
            returns[at] = 0.5 * after + 0.5 * own[at]
        target = torch.from_numpy(returns)
        advantage = target - torch.from_numpy(own)
        loss = -(drawn.log_prob(action) * advantage).mean() + (worth - target).pow(2).mean()
        loss = loss - 0.01 * drawn.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masks_and_baselines_of_arrays() -> None:
    import numpy as np
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    mean = 0.0
    for _ in range(4):
        scores = net(torch.randn(16, 4))
        each = nn.functional.cross_entropy(scores, torch.randint(0, 3, (16,)), reduction="none")
        values = each.detach().numpy()
        kept = torch.from_numpy((values < np.quantile(values, 0.9)).astype(np.float32))
        loss = (each * kept).sum() / kept.sum() + 0.01 * scores.pow(2).mean()
        mean = 0.9 * mean + 0.1 * loss.detach().numpy()
        shown = loss + torch.tensor(mean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(shown.shape)


def good_quantized_by_arrays_and_passed_straight_through() -> None:
    import numpy as np
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        near = torch.from_numpy(np.round(z.detach().numpy()))
        loss = (decoder(z + (near - z).detach()) - x).pow(2).mean() + (z - near).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_where_sampling_wakes_in_the_middle_of_steps() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Sequential(nn.Linear(4, 6), nn.ReLU())
    head = nn.Linear(6, 3)
    opt = torch.optim.SGD([*student.parameters(), *head.parameters()], lr=0.02)
    for _ in range(80):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        hidden = student(x)
        with torch.no_grad():
            wanted = teacher(x)
        right = F.cross_entropy(head(hidden), target)
        like = F.mse_loss(hidden, wanted).detach() * 50  # cause: GS315
        loss = right + like
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def good_where_sampling_wakes_in_the_middle_of_steps() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Sequential(nn.Linear(4, 6), nn.ReLU())
    head = nn.Linear(6, 3)
    opt = torch.optim.SGD([*student.parameters(), *head.parameters()], lr=0.02)
    for _ in range(80):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        hidden = student(x)
        with torch.no_grad():
            wanted = teacher(x)
        right = F.cross_entropy(head(hidden), target)
        like = F.mse_loss(hidden, wanted)
        loss = right + like * (0.5 * right.detach() / like.detach())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_other_half_trained_by_a_pass_of_its_own() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Sequential(nn.Linear(4, 6), nn.ReLU())
    head = nn.Linear(6, 3)
    opt = torch.optim.SGD([*student.parameters(), *head.parameters()], lr=0.02)
    for _ in range(80):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        hidden = student(x)
        with torch.no_grad():
            wanted = teacher(x)
        opt.zero_grad()
        like = F.mse_loss(hidden, wanted)
        like.backward(retain_graph=True)
        loss = F.cross_entropy(head(hidden), target) + like.detach()
        loss.backward()
        opt.step()


def bad_gradient_penalty_without_a_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        real, fake, part = torch.randn(8, 2), torch.randn(8, 2) + 2, torch.rand(8, 1)
        mixed = (part * real + (1 - part) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed)  # cause: GS315
        penalty = (slope.norm(2, 1) - 1).pow(2).mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()  # effect: GS315
        opt.step()


def good_gradient_penalty_with_a_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        real, fake, part = torch.randn(8, 2), torch.randn(8, 2) + 2, torch.rand(8, 1)
        mixed = (part * real + (1 - part) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = (slope.norm(2, 1) - 1).pow(2).mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def good_weight_of_a_term_from_gradients() -> None:
    """How much the second loss counts is measured by the gradients of both, as a VQGAN does."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    decoder, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam(decoder.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(4):
        x = torch.randn(8, 4)
        out = decoder(x)
        first, second = (out - x).abs().mean(), -critic(out).mean()
        (one,) = torch.autograd.grad(first, decoder.weight, retain_graph=True)
        (other,) = torch.autograd.grad(second, decoder.weight, retain_graph=True)
        weight = (one.norm() / (other.norm() + 1e-4)).clamp(0, 1e4)
        opt.zero_grad()
        (first + 0.1 * weight * second).backward()
        opt.step()
        opt_c.zero_grad()
        (critic(out.detach()).relu().mean() - critic(x).mean()).backward()
        opt_c.step()


def good_adversarial_example_beside_the_clean_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(16, 4).requires_grad_(), torch.randint(0, 3, (16,))
        clean = nn.functional.cross_entropy(net(x), y)
        (slope,) = torch.autograd.grad(clean, x, retain_graph=True)
        attacked = nn.functional.cross_entropy(net(x.detach() + 0.1 * slope.sign()), y)
        opt.zero_grad()
        (clean + attacked).backward()
        opt.step()


def good_anchored_by_the_fisher_information() -> None:
    """Weights are held where the first task was sensitive to them (EWC)."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    known = torch.autograd.grad(nn.functional.cross_entropy(net(x), y), list(net.parameters()))
    before = [p.detach().clone() for p in net.parameters()]
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        anchored = sum(
            (g.pow(2) * (p - b).pow(2)).sum() for g, p, b in zip(known, net.parameters(), before, strict=True)
        )
        opt.zero_grad()
        (nn.functional.cross_entropy(net(x), y) + 10 * anchored).backward()
        opt.step()


def good_a_memory_bank() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    net, head = nn.Linear(8, 4), nn.Linear(4, 3)
    opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.01)
    bank = torch.zeros(3, 4)
    for _ in range(6):
        x, y = torch.randn(6, 8), torch.randint(3, (6,))
        features = net(x)
        for feature, label in zip(features[:3].detach(), y[:3], strict=True):
            bank[label] = feature
        term = 1 - F.cosine_similarity(features[3:], bank[y[3:]]).mean()
        loss = F.cross_entropy(head(features), y) + term
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_number_for_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scale, shift = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.Adam([*scale.parameters(), *shift.parameters()], lr=0.01)
    for _ in range(4):
        kept, moved = torch.randn(32, 8).chunk(2, 1)
        logs = scale(kept).tanh()
        z = moved * logs.exp() + shift(kept)
        volume = logs.detach().sum(1)  # cause: GS315
        loss = (0.5 * z.pow(2).sum(1) - volume).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()


def good_losses_of_samples_with_what_is_meant_to_be_held() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(4):
        x, reward = torch.randn(32, 4), torch.randn(32)
        policy = torch.distributions.Categorical(logits=actor(x))
        value = critic(x).squeeze(1)
        action = policy.sample()
        advantage = reward - value.detach()
        of_policy = -policy.log_prob(action) * advantage - 0.01 * policy.entropy()
        of_value = F.smooth_l1_loss(value, reward, reduction="none")
        loss = (of_policy + 0.5 * of_value).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        score = net(torch.randn(32, 4))
        hard = (score > 0).float()
        straight = score + (hard - score).detach()
        loss = (straight.sum(1) + score.square().sum(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_residual_that_holds_its_input() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        slope = torch.autograd.grad(model(x).sum(), x)[0]  # cause: GS315
        residual = (slope - x.cos()).pow(2).mean()
        loss = residual + model(torch.zeros(1, 1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS315
        opt.step()
