"""More programs of GS743."""

from __future__ import annotations


def bad_generator_helps_the_critic() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(16, 2)).detach()
        loss = critic(fake).mean() - critic(torch.randn(16, 4) + 2).mean()
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        opt_g.zero_grad()
        loss_g = critic(generator(torch.randn(16, 2))).mean()  # cause: GS743
        loss_g.backward()  # effect: GS743
        opt_g.step()


def bad_same_label() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    bce = nn.functional.binary_cross_entropy_with_logits
    for _ in range(4):
        with torch.no_grad():
            fake = generator(torch.randn(16, 2))
        real_score, fake_score = critic(torch.randn(16, 4) + 2), critic(fake)
        loss_real = bce(real_score, torch.ones_like(real_score))
        loss_fake = bce(fake_score, torch.ones_like(fake_score))  # cause: GS743
        opt_c.zero_grad()
        (0.5 * (loss_real + loss_fake)).backward()  # effect: GS743
        opt_c.step()
        opt_g.zero_grad()
        score = critic(generator(torch.randn(16, 2)))
        bce(score, torch.ones_like(score)).backward()
        opt_g.step()


def good_labels_of_a_gan() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(4):
        real = torch.randn(16, 4) + 2
        fake = generator(torch.randn(16, 2))
        opt_g.zero_grad()
        bce(critic(fake), ones).backward()
        opt_g.step()
        opt_c.zero_grad()
        ((bce(critic(real), ones) + bce(critic(fake.detach()), zeros)) / 2).backward()
        opt_c.step()


def good_labels_in_a_loop() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(16, 2)).detach()
        opt_c.zero_grad()
        for samples, label in ((torch.randn(16, 4) + 2, torch.ones(16, 1)), (fake, torch.zeros(16, 1))):
            nn.functional.mse_loss(critic(samples), label).backward()
        opt_c.step()
        opt_g.zero_grad()
        nn.functional.mse_loss(critic(generator(torch.randn(16, 2))), torch.ones(16, 1)).backward()
        opt_g.step()


def good_hinge() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(16, 2)).detach()
        real_score, fake_score = critic(torch.randn(16, 4) + 2), critic(fake)
        loss = nn.functional.relu(1.0 - real_score).mean() + nn.functional.relu(1.0 + fake_score).mean()
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(generator(torch.randn(16, 2))).mean()).backward()
        opt_g.step()


def good_gradients_that_are_given() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    one = torch.tensor(1.0)
    for _ in range(4):
        opt_c.zero_grad()
        critic(torch.randn(16, 4) + 2).mean().backward(-one)
        critic(generator(torch.randn(16, 2)).detach()).mean().backward(one)
        opt_c.step()
        opt_g.zero_grad()
        critic(generator(torch.randn(16, 2))).mean().backward(-one)
        opt_g.step()


def good_minimax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        fake = generator(torch.randn(16, 2)).detach()
        real_score, fake_score = torch.sigmoid(critic(torch.randn(16, 4) + 2)), torch.sigmoid(critic(fake))
        loss = -(torch.log(real_score) + torch.log(1 - fake_score)).mean()
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        opt_g.zero_grad()
        torch.log(1 - torch.sigmoid(critic(generator(torch.randn(16, 2))))).mean().backward()
        opt_g.step()


def good_players_of_one_side() -> None:
    """Both networks raise the same bound (mutual information)."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, judge = nn.Linear(4, 2), nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_e = torch.optim.Adam(encoder.parameters(), lr=0.01)
    opt_j = torch.optim.Adam(judge.parameters(), lr=0.01)
    for step in range(6):
        x = torch.randn(16, 4)
        z = encoder(x) if step % 2 else encoder(x).detach()
        joint, apart = judge(torch.cat([x, z], 1)), judge(torch.cat([x, z[torch.randperm(16)]], 1))
        opt = opt_e if step % 2 else opt_j
        opt_e.zero_grad()
        opt_j.zero_grad()
        (nn.functional.softplus(-joint).mean() + nn.functional.softplus(apart).mean()).backward()
        opt.step()


def good_samples_that_are_added_to_the_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        with torch.no_grad():
            more = generator(torch.randn(16, 2))
        opt_c.zero_grad()
        loss = nn.functional.mse_loss(critic(torch.randn(16, 4)), torch.rand(16, 1))
        (loss + nn.functional.mse_loss(critic(more), torch.rand(16, 1))).backward()
        opt_c.step()


def bad_begins_with_the_same_sign() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=0.01)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    up, down = torch.tensor(-1.0), torch.tensor(1.0)
    for _ in range(4):
        opt_c.zero_grad()
        critic(torch.randn(16, 4) + 2).mean().backward(up)
        critic(generator(torch.randn(16, 2)).detach()).mean().backward(down)
        opt_c.step()
        opt_g.zero_grad()
        score = critic(generator(torch.randn(16, 2))).mean()  # cause: GS743
        score.backward(down)  # effect: GS743
        opt_g.step()


def good_begins_with_opposite_signs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=0.01)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    one = torch.tensor(1.0)
    for _ in range(4):
        opt_c.zero_grad()
        critic(torch.randn(16, 4) + 2).mean().backward(-one)
        critic(generator(torch.randn(16, 2)).detach()).mean().backward(one)
        opt_c.step()
        opt_g.zero_grad()
        critic(generator(torch.randn(16, 2))).mean().backward(-one)
        opt_g.step()


def good_both_turned_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=0.01)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    one = torch.tensor(1.0)
    for _ in range(4):  # the real samples get the low scores
        opt_c.zero_grad()
        critic(torch.randn(16, 4) + 2).mean().backward(gradient=one)
        critic(generator(torch.randn(16, 2)).detach()).mean().backward(gradient=-one)
        opt_c.step()
        opt_g.zero_grad()
        critic(generator(torch.randn(16, 2))).mean().backward(one)
        opt_g.step()


def bad_label_of_a_loss_that_is_given_both_networks() -> None:
    import torch
    from torch import nn

    class Adversarial(nn.Module):
        def against(self, score: torch.Tensor, real: bool) -> torch.Tensor:
            label = torch.zeros_like(score) if real else torch.ones_like(score)
            return nn.functional.binary_cross_entropy_with_logits(score, label)

        def forward(
            self, maker: nn.Module, judge: nn.Module, real: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            fake = maker(torch.randn(16, 2))
            of_maker = self.against(judge(fake), False)  # cause: GS743
            of_judge = self.against(judge(real), True) + self.against(judge(fake.detach()), False)
            return of_maker, of_judge / 2

    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_m = torch.optim.Adam(maker.parameters(), lr=0.01)
    opt_j = torch.optim.Adam(judge.parameters(), lr=0.01)
    loss = Adversarial()
    for _ in range(4):
        of_maker, of_judge = loss(maker, judge, torch.randn(16, 4) + 2)
        opt_m.zero_grad()
        of_maker.backward()  # effect: GS743
        opt_m.step()
        opt_j.zero_grad()
        of_judge.backward()
        opt_j.step()


def good_labels_of_a_loss_that_is_given_both_networks() -> None:
    import torch
    from torch import nn

    class Adversarial(nn.Module):
        def against(self, score: torch.Tensor, real: bool) -> torch.Tensor:
            label = torch.ones_like(score) if real else torch.zeros_like(score)
            return nn.functional.binary_cross_entropy_with_logits(score, label)

        def forward(
            self, maker: nn.Module, judge: nn.Module, real: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            fake = maker(torch.randn(16, 2))
            of_maker = self.against(judge(fake), True)
            of_judge = self.against(judge(real), True) + self.against(judge(fake.detach()), False)
            return of_maker, of_judge / 2

    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_m = torch.optim.Adam(maker.parameters(), lr=0.01)
    opt_j = torch.optim.Adam(judge.parameters(), lr=0.01)
    loss = Adversarial()
    for _ in range(4):
        of_maker, of_judge = loss(maker, judge, torch.randn(16, 4) + 2)
        opt_m.zero_grad()
        of_maker.backward()
        opt_m.step()
        opt_j.zero_grad()
        of_judge.backward()
        opt_j.step()


def bad_label_filled_for_the_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
    critic = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
    for _ in range(6):
        critic.zero_grad()
        label = torch.full((16,), 1.0)
        criterion(critic(torch.randn(16, 6) + 2).view(-1), label).backward()
        made = generator(torch.randn(16, 4))
        label.fill_(0.0)
        criterion(critic(made.detach()).view(-1), label).backward()
        of_critic.step()
        generator.zero_grad()
        scores = critic(made).view(-1)
        loss = criterion(scores, label)  # cause: GS743
        loss.backward()  # effect: GS743
        of_generator.step()


def good_label_filled_for_both() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
    critic = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
    for _ in range(6):
        critic.zero_grad()
        label = torch.full((16,), 1.0)
        criterion(critic(torch.randn(16, 6) + 2).view(-1), label).backward()
        made = generator(torch.randn(16, 4))
        label.fill_(0.0)
        criterion(critic(made.detach()).view(-1), label).backward()
        of_critic.step()
        generator.zero_grad()
        label.fill_(1.0)
        criterion(critic(made).view(-1), label).backward()
        of_generator.step()


def bad_squares_with_one_label() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    artist = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 4))
    judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    opt_a, opt_j = (torch.optim.Adam(net.parameters(), lr=0.001) for net in (artist, judge))
    for _ in range(4):
        curves = torch.randn(16, 4)
        with torch.no_grad():
            forged = artist(torch.randn(16, 3))
        on_real = judge(curves).sub(1).square().mean()
        on_forged = ((judge(forged) - 1) ** 2).mean()  # cause: GS743
        opt_j.zero_grad()
        (0.5 * (on_real + on_forged)).backward()  # effect: GS743
        opt_j.step()
        opt_a.zero_grad()
        score = judge(artist(torch.randn(16, 3)))
        (0.5 * (score - 1).square().mean()).backward()
        opt_a.step()


def good_squares_with_both_labels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    artist = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 4))
    judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    opt_a, opt_j = (torch.optim.Adam(net.parameters(), lr=0.001) for net in (artist, judge))
    for _ in range(4):
        curves = torch.randn(16, 4)
        with torch.no_grad():
            forged = artist(torch.randn(16, 3))
        on_real = judge(curves).sub(1).square().mean()
        on_forged = judge(forged).square().mean()
        opt_j.zero_grad()
        (0.5 * (on_real + on_forged)).backward()
        opt_j.step()
        opt_a.zero_grad()
        score = judge(artist(torch.randn(16, 3)))
        (0.5 * (1 - score).pow(2).mean()).backward()
        opt_a.step()


def good_squares_with_labels_of_three_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    artist = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 4))
    judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    opt_a, opt_j = (torch.optim.Adam(net.parameters(), lr=0.001) for net in (artist, judge))
    for _ in range(4):
        curves = torch.randn(16, 4)
        with torch.no_grad():
            forged = artist(torch.randn(16, 3))
        on_real = ((judge(curves) - 1) ** 2).mean()
        on_forged = ((judge(forged) + 1) ** 2).mean()
        opt_j.zero_grad()
        (0.5 * (on_real + on_forged)).backward()
        opt_j.step()
        opt_a.zero_grad()
        score = judge(artist(torch.randn(16, 3)))
        (0.5 * (score**2).mean()).backward()
        opt_a.step()


def good_labels_the_other_way_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    artist = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 4))
    judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    opt_a, opt_j = (torch.optim.Adam(net.parameters(), lr=0.001) for net in (artist, judge))
    for _ in range(4):
        curves = torch.randn(16, 4)
        with torch.no_grad():
            forged = artist(torch.randn(16, 3))
        on_real = (judge(curves) ** 2).mean()
        on_forged = ((judge(forged) - 1) ** 2).mean()
        opt_j.zero_grad()
        (0.5 * (on_real + on_forged)).backward()
        opt_j.step()
        opt_a.zero_grad()
        score = judge(artist(torch.randn(16, 3)))
        (0.5 * score.square().mean()).backward()
        opt_a.step()


def good_critic_that_gives_its_loss() -> None:
    import torch
    from torch import nn

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))

        def forward(self, x, for_real):
            logits = self.net(x)
            labels = torch.full_like(logits, float(for_real))
            return nn.functional.binary_cross_entropy_with_logits(logits, labels)

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), Discriminator()
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        fake = generator(torch.randn(16, 2))
        opt_g.zero_grad()
        critic(fake, for_real=True).backward()
        opt_g.step()
        loss_real = critic(torch.randn(16, 4) + 2, for_real=True)
        loss_fake = critic(fake.detach(), for_real=False)
        opt_c.zero_grad()
        (0.5 * (loss_real + loss_fake)).backward()
        opt_c.step()


def good_critic_that_turns_its_score() -> None:
    import torch
    from torch import nn

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))

        def forward(self, x, real):
            score = self.net(x)
            return nn.functional.softplus(-score if real else score).mean()

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 4), Discriminator()
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        fake = generator(torch.randn(16, 2))
        opt_g.zero_grad()
        critic(fake, real=True).backward()
        opt_g.step()
        opt_c.zero_grad()
        (critic(torch.randn(16, 4) + 2, real=True) + critic(fake.detach(), real=False)).backward()
        opt_c.step()
