"""More programs of GS406: each bad one is reported at its marks, each good one by no rule."""


def good_load_and_train_on() -> None:
    import torch
    from torch import nn

    saved = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)).state_dict()
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    model.load_state_dict(saved)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_batch_statistics_at_test_time() -> None:
    import torch
    from torch import nn

    saved = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)).state_dict()
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    model.load_state_dict(saved)
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.train()
    with torch.no_grad():
        model(torch.randn(8, 4)).argmax(dim=1).tolist()


def bad_loaded_after_a_long_training() -> None:
    import torch
    from torch import nn

    def made() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))

    model = made()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(100):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    best = made()
    best.load_state_dict(model.state_dict())  # cause: GS406
    with torch.no_grad():
        best(torch.randn(8, 4)).argmax(dim=1).tolist()  # effect: GS406


def good_a_head_is_loaded_and_the_norm_is_not() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
    pupil, teacher = nn.Sequential(body, nn.Linear(8, 2)), nn.Linear(8, 2)
    teacher.load_state_dict(pupil[1].state_dict())
    guide = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), teacher)
    opt = torch.optim.SGD(pupil.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        with torch.no_grad():
            wanted = guide(x)
        loss = nn.functional.mse_loss(pupil(x), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for one, other in zip(guide.parameters(), pupil.parameters(), strict=True):
                one.mul_(0.9).add_(other, alpha=0.1)
