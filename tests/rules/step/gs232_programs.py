"""More programs of GS232: each bad one is reported at its marks, each good one by no rule."""


def bad_gan_whose_steps_come_last() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        g_opt.zero_grad()
        d_opt.zero_grad()
        fake = generator(torch.randn(8, 3))
        d_loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(torch.randn(8, 4))).mean()
        d_loss.backward()  # effect: GS232
        g_loss = F.softplus(-critic(fake)).mean()
        g_loss.backward()  # cause: GS232
        d_opt.step()
        g_opt.step()


def bad_generator_first() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        g_opt.zero_grad()
        d_opt.zero_grad()
        fake = generator(torch.randn(8, 3))
        F.softplus(-critic(fake)).mean().backward()  # cause: GS232
        g_opt.step()
        real = F.softplus(-critic(torch.randn(8, 4))).mean()
        (F.softplus(critic(fake.detach())).mean() + real).backward()  # effect: GS232
        d_opt.step()


def good_frozen_meanwhile() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        state = torch.randn(8, 3)
        action = actor(state)
        value = critic(torch.cat([state, action.detach()], 1))
        critic_opt.zero_grad()
        (value - torch.rand(8, 1)).pow(2).mean().backward()
        critic.requires_grad_(False)
        actor_opt.zero_grad()
        (-critic(torch.cat([state, action], 1)).mean()).backward()
        critic.requires_grad_(True)
        critic_opt.step()
        actor_opt.step()


def good_decoder_with_a_loss_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    e_opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 6)
        e_opt.zero_grad()
        d_opt.zero_grad()
        decoder(torch.randn(8, 3)).pow(2).mean().backward()
        (decoder(encoder(x)) - x).pow(2).mean().backward()
        d_opt.step()
        e_opt.step()


def good_a_trunk_with_two_heads() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, first, second = nn.Linear(6, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    t_opt = torch.optim.Adam([*trunk.parameters(), *first.parameters()], lr=0.01)
    s_opt = torch.optim.Adam(second.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 6)
        t_opt.zero_grad()
        s_opt.zero_grad()
        with torch.no_grad():
            aim = second(trunk(x))
        (first(trunk(x)) - aim).pow(2).mean().backward()
        (second(trunk(x)) - 1).pow(2).mean().backward()
        t_opt.step()
        s_opt.step()


def good_own_gradient_put_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        state = torch.randn(8, 3)
        action = actor(state)
        critic_opt.zero_grad()
        value = critic(torch.cat([state, action.detach()], 1))
        (value - torch.rand(8, 1)).pow(2).mean().backward()
        own = [p.grad.clone() for p in critic.parameters()]
        actor_opt.zero_grad()
        (-critic(torch.cat([state, action], 1)).mean()).backward()
        for p, grad in zip(critic.parameters(), own, strict=True):
            p.grad = grad
        critic_opt.step()
        actor_opt.step()


def good_cleared_in_between() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(8, 3))
        g_opt.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        g_opt.step()
        d_opt.zero_grad()
        real = F.softplus(-critic(torch.randn(8, 4))).mean()
        (F.softplus(critic(fake.detach())).mean() + real).backward()
        d_opt.step()


def bad_one_loop_for_both() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, judge = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())]
    log = nn.functional.softplus
    for _ in range(60):
        for turn, optimizer in enumerate(optimizers):
            made = maker(torch.randn(16, 4))
            if turn == 0:
                loss = log(-judge(made)).mean()
            else:
                loss = log(judge(made.detach())).mean() + log(-judge(torch.randn(16, 2) + 1)).mean()
            loss.backward()  # cause: GS232
            optimizer.step()
            optimizer.zero_grad()


def good_one_loop_that_clears_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, judge = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())]
    log = nn.functional.softplus
    for _ in range(60):
        for turn, optimizer in enumerate(optimizers):
            made = maker(torch.randn(16, 4))
            if turn == 0:
                loss = log(-judge(made)).mean()
            else:
                loss = log(judge(made.detach())).mean() + log(-judge(torch.randn(16, 2) + 1)).mean()
            loss.backward()
            optimizer.step()
            maker.zero_grad()
            judge.zero_grad()


def bad_ensemble_whose_actor_is_updated_now_and_then() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critics = nn.Linear(3, 2), [nn.Linear(5, 1) for _ in range(3)]
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opts = [torch.optim.Adam(critic.parameters(), lr=0.01) for critic in critics]
    for step in range(40):
        state, done = torch.randn(8, 3), torch.randn(8, 2)
        with torch.no_grad():
            ahead = critics[0](torch.cat([state, actor(state)], 1))
        values = torch.cat([critic(torch.cat([state, done], 1)) for critic in critics], 1)
        for opt in critic_opts:
            opt.zero_grad()
        (values - 0.9 * ahead).pow(2).mean().backward()  # effect: GS232
        if step % 5 == 4:
            action = actor(state)
            actor_opt.zero_grad()
            scores = torch.cat([critic(torch.cat([state, action], 1)) for critic in critics], 1)
            (-scores.mean()).backward()  # cause: GS232
        for opt in critic_opts:
            opt.step()
        if step % 5 == 4:
            actor_opt.step()


def good_ensemble_that_is_stepped_before_its_actor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critics = nn.Linear(3, 2), [nn.Linear(5, 1) for _ in range(3)]
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opts = [torch.optim.Adam(critic.parameters(), lr=0.01) for critic in critics]
    for step in range(40):
        state, done = torch.randn(8, 3), torch.randn(8, 2)
        with torch.no_grad():
            ahead = critics[0](torch.cat([state, actor(state)], 1))
        values = torch.cat([critic(torch.cat([state, done], 1)) for critic in critics], 1)
        for opt in critic_opts:
            opt.zero_grad()
        (values - 0.9 * ahead).pow(2).mean().backward()
        for opt in critic_opts:
            opt.step()
        if step % 5 == 4:
            action = actor(state)
            actor_opt.zero_grad()
            scores = torch.cat([critic(torch.cat([state, action], 1)) for critic in critics], 1)
            (-scores.mean()).backward()
            actor_opt.step()


def bad_gradients_added_up_over_several_rounds() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for batch in range(24):
        fake = generator(torch.randn(8, 3))
        score = critic(fake)
        wanted = nn.functional.softplus(-score).mean() + 0.1 * fake.pow(2).mean()
        (wanted / 4).backward()  # cause: GS232
        fake = generator(torch.randn(8, 3)).detach()
        told = nn.functional.softplus(critic(fake)) + nn.functional.softplus(-critic(torch.randn(8, 4)))
        (told.mean() / 4).backward()  # effect: GS232
        if batch % 4 == 3:
            g_opt.step()
            g_opt.zero_grad()
            d_opt.step()
            d_opt.zero_grad()


def bad_loss_without_a_lower_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    maker = nn.Sequential(nn.Linear(12, 24), nn.SiLU(), nn.Linear(24, 12))
    layers = [nn.Linear(12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)]
    judge = nn.Sequential(*layers)
    m_opt = torch.optim.Adam(maker.parameters(), lr=0.004, betas=(0.5, 0.9))
    j_opt = torch.optim.Adam(judge.parameters(), lr=0.004, betas=(0.5, 0.9))
    for batch in range(800):
        real = torch.randn(16, 12)
        made = maker(real)
        loss = (made - real).abs().mean() - judge(made).mean()
        (loss / 4).backward()  # cause: GS232
        made = maker(real).detach()
        hinge = torch.relu(1 - judge(real)).mean() + torch.relu(1 + judge(made)).mean()
        (hinge / 8).backward()  # effect: GS232
        if batch % 4 == 3:
            m_opt.step()
            m_opt.zero_grad()
            j_opt.step()
            j_opt.zero_grad()


def good_frozen_while_gradients_are_added_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for batch in range(24):
        critic.requires_grad_(False)
        fake = generator(torch.randn(8, 3))
        (nn.functional.softplus(-critic(fake)).mean() / 4).backward()
        critic.requires_grad_(True)
        fake = generator(torch.randn(8, 3)).detach()
        told = nn.functional.softplus(critic(fake)) + nn.functional.softplus(-critic(torch.randn(8, 4)))
        (told.mean() / 4).backward()
        if batch % 4 == 3:
            g_opt.step()
            g_opt.zero_grad()
            d_opt.step()
            d_opt.zero_grad()


def good_decoder_of_two_losses_added_up() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
    e_opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(decoder.parameters(), lr=0.01)
    for batch in range(24):
        x = torch.randn(8, 6)
        (decoder(torch.randn(8, 3)).pow(2).mean() / 4).backward()
        ((decoder(encoder(x)) - x).pow(2).mean() / 4).backward()
        if batch % 4 == 3:
            d_opt.step()
            e_opt.step()
            d_opt.zero_grad()
            e_opt.zero_grad()


def bad_results_of_the_generator_not_detached() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        d_opt.zero_grad()
        g_opt.zero_grad()
        fake = generator(torch.randn(8, 3))
        real_score, fake_score = critic(torch.randn(8, 4)), critic(fake)  # cause: GS232
        real_loss = F.mse_loss(real_score, torch.ones_like(real_score))
        d_loss = 0.5 * (real_loss + F.mse_loss(fake_score, torch.zeros_like(fake_score)))
        d_loss.backward()
        d_opt.step()
        score = critic(generator(torch.randn(8, 3)))
        F.mse_loss(score, torch.ones_like(score)).backward()
        g_opt.step()  # effect: GS232


def bad_two_passes_of_the_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(5, 4), nn.Linear(6, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        kind = torch.randn(8, 2)
        g_opt.zero_grad()
        d_opt.zero_grad()
        torch.relu(1 - critic(torch.cat([torch.randn(8, 4), kind], 1))).mean().backward()
        fake = generator(torch.cat([torch.randn(8, 3), kind], 1))
        torch.relu(1 + critic(torch.cat([fake, kind], 1))).mean().backward()  # cause: GS232
        d_opt.step()
        fake = generator(torch.cat([torch.randn(8, 3), kind], 1))
        (-critic(torch.cat([fake, kind], 1)).mean()).backward()
        g_opt.step()  # effect: GS232


def bad_squares_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        d_opt.zero_grad()
        g_opt.zero_grad()
        fake = generator(torch.randn(8, 3))
        d_loss = (critic(torch.randn(8, 4)) - 1).pow(2).mean() + critic(fake).pow(2).mean()  # cause: GS232
        d_loss.backward()
        d_opt.step()
        fake = generator(torch.randn(8, 3))
        (critic(fake) - 1).pow(2).mean().backward()
        g_opt.step()  # effect: GS232


def good_generator_cleared_before_its_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        d_opt.zero_grad()
        fake = generator(torch.randn(8, 3)).detach()
        (critic(fake).pow(2).mean() + (critic(torch.randn(8, 4)) - 1).pow(2).mean()).backward()
        d_opt.step()
        g_opt.zero_grad()
        (critic(generator(torch.randn(8, 3))) - 1).pow(2).mean().backward()
        g_opt.step()


def good_encoder_learns_from_both_losses() -> None:
    """The head learns from the labels alone, and the encoder also from what the head says of noisy inputs."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    encoder, head = nn.Linear(6, 4), nn.Linear(4, 3)
    e_opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    h_opt = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(3, (8,))
        e_opt.zero_grad()
        h_opt.zero_grad()
        F.cross_entropy(head(encoder(x)), y).backward()
        h_opt.step()
        with torch.no_grad():
            aim = head(encoder(x)).softmax(1)
        F.cross_entropy(head(encoder(x + 0.1 * torch.randn(8, 6))), aim).backward()
        e_opt.step()


def bad_both_steps_come_last() -> None:  # fix: by hand
    """Each of the two networks is moved by the sum of both losses."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    g_opt = torch.optim.Adam(generator.parameters(), lr=0.01)
    d_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    for _ in range(5):
        fake = generator(torch.randn(8, 3))
        d_opt.zero_grad()
        g_opt.zero_grad()
        real = F.binary_cross_entropy_with_logits(critic(torch.randn(8, 4)), ones)
        d_loss = real + F.binary_cross_entropy_with_logits(critic(fake), zeros)  # cause: GS232
        d_loss.backward(retain_graph=True)
        F.binary_cross_entropy_with_logits(critic(fake), ones).backward()
        d_opt.step()
        g_opt.step()  # effect: GS232


def good_two_passes_of_losses_that_agree() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    body, head = nn.Linear(3, 4), nn.Linear(4, 1)
    b_opt = torch.optim.Adam(body.parameters(), lr=0.01)
    h_opt = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(5):
        b_opt.zero_grad()
        h_opt.zero_grad()
        F.binary_cross_entropy_with_logits(head(body(torch.randn(8, 3) + 1)), torch.ones(8, 1)).backward()
        F.binary_cross_entropy_with_logits(head(body(torch.randn(8, 3) - 1)), torch.zeros(8, 1)).backward()
        h_opt.step()
        b_opt.step()
