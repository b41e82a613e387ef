"""More programs of GS416: each bad one is reported at its marks, each good one by no rule."""


def bad_cycle_of_codes_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    decoder = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 6))
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        code = encoder(x)
        image = decoder(code)
        with torch.no_grad():
            back = encoder(image)  # cause: GS416
        loss = (image - x).pow(2).mean() + 0.5 * (code - back).abs().mean()  # effect: GS416
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bootstrapped_value() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, world, critic = nn.Linear(6, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*encoder.parameters(), *world.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(3):
        state = encoder(torch.randn(8, 6))
        following = world(state)
        with torch.no_grad():
            target = 1 + 0.9 * critic(following)
        loss = nn.functional.mse_loss(critic(state), target) + following.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_target_of_the_same_features() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone, head, predictor = nn.Linear(6, 4), nn.Linear(4, 3), nn.Linear(3, 3)
    opt = torch.optim.SGD([*backbone.parameters(), *head.parameters(), *predictor.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6)
        one, other = backbone(x), backbone(x + 0.1 * torch.randn(8, 6))
        with torch.no_grad():
            target = head(other)
        loss = nn.functional.mse_loss(predictor(head(one)), target) + other.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
