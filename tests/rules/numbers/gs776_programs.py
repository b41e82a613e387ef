"""More programs of GS776: each bad one is reported at its marks, each good one by no rule."""


def bad_by_a_function_that_differentiates() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def slope(of, by):
        return torch.autograd.grad(of.sum(), by, create_graph=True)[0]

    field = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    adam = torch.optim.Adam(field.parameters())
    for _ in range(3):
        place = torch.rand(16, 1, requires_grad=True)
        height = field(place)
        height_x = slope(height, place)  # effect: GS776
        height_xx = slope(height, place)  # cause: GS776
        residual = (0.1 * height_xx + height * height_x - 1).pow(2).mean()
        adam.zero_grad()
        residual.backward()
        adam.step()


def bad_and_the_first_is_used_by_nothing() -> None:
    import torch
    from torch import nn
    from torch.autograd import grad

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    adam = torch.optim.Adam(field.parameters())
    for _ in range(3):
        place = torch.rand(16, 1, requires_grad=True)
        height = field(place)
        ones = torch.ones_like(height)
        slope = grad(height, place, grad_outputs=ones, create_graph=True)[0]  # effect: GS776
        bend = grad(height, place, grad_outputs=ones, create_graph=True)[0]  # cause: GS776
        residual = (0.1 * bend - 1).pow(2).mean()
        adam.zero_grad()
        residual.backward()
        adam.step()


def good_a_column_of_each() -> None:
    import torch
    from torch import nn
    from torch.autograd import grad

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    adam = torch.optim.Adam(field.parameters())
    for _ in range(3):
        place = torch.rand(16, 2, requires_grad=True)
        height = field(place)
        ones = torch.ones_like(height)
        along_x = grad(height, place, ones, create_graph=True)[0][:, 0:1]
        along_t = grad(height, place, ones, create_graph=True)[0][:, 1:2]
        residual = (along_t + height * along_x - 1).pow(2).mean()
        adam.zero_grad()
        residual.backward()
        adam.step()


def good_in_two_terms_of_their_own() -> None:
    import torch
    from torch import nn
    from torch.autograd import grad

    torch.manual_seed(0)

    def equation(height, place):
        slope = grad(height.sum(), place, create_graph=True)[0]
        return (slope + height).pow(2).mean()

    def border(height, place):
        slope = grad(height.sum(), place, create_graph=True)[0]
        return (slope[:1] - 1).pow(2).mean()

    field = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    adam = torch.optim.Adam(field.parameters())
    for _ in range(3):
        place = torch.rand(16, 1, requires_grad=True)
        height = field(place)
        residual = equation(height, place) + border(height, place)
        adam.zero_grad()
        residual.backward()
        adam.step()
