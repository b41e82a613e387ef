import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_EPOCHS, FREEZE_TEACHER_EPOCH, STEP_SIZE, LR = 20, 15, 15, 5e-3


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 48), nn.ELU(), nn.Linear(48, n_out))


class Trainer:
    def __init__(self):
        self.mono = mlp(16, 1)
        self.encoder, self.depth = mlp(24, 24), mlp(24, 1)
        self.pose = mlp(16, 8)
        self.train_teacher_and_pose = True
        params = [*self.mono.parameters(), *self.pose.parameters()]
        params += [*self.encoder.parameters(), *self.depth.parameters()]
        self.model_optimizer = torch.optim.Adam(params, LR)
        self.model_lr_scheduler = torch.optim.lr_scheduler.StepLR(self.model_optimizer, STEP_SIZE, 0.1)

    def freeze_teacher(self):
        self.train_teacher_and_pose = False
        params = [*self.encoder.parameters(), *self.depth.parameters()]
        self.model_optimizer = torch.optim.Adam(params, self.model_lr_scheduler.get_last_lr()[0])
        self.model_lr_scheduler = torch.optim.lr_scheduler.StepLR(self.model_optimizer, STEP_SIZE, 0.1)

    def predict(self, frame, lookup):
        with torch.set_grad_enabled(self.train_teacher_and_pose and torch.is_grad_enabled()):
            motion = self.pose(lookup)
            teacher = self.mono(frame)
        return teacher, self.depth(self.encoder(torch.cat([frame, motion], 1)))

    def train(self, data, val):
        for epoch in range(NUM_EPOCHS):
            if epoch == FREEZE_TEACHER_EPOCH:
                self.freeze_teacher()
            loss = self.run_epoch(data)
            lr = self.model_optimizer.param_groups[0]["lr"]
            self.model_lr_scheduler.step()
            if epoch % 3 == 2 or epoch >= FREEZE_TEACHER_EPOCH:
                print(f"epoch {epoch}: lr {lr:.0e} loss {loss:.4f} val abs_rel {self.abs_rel(val):.4f}")

    def run_epoch(self, data):
        frame, lookup, depth = data
        total = 0.0
        for rows in torch.randperm(len(frame)).split(16):
            teacher, multi = self.predict(frame[rows], lookup[rows])
            loss = F.l1_loss(multi, depth[rows]) + 0.1 * F.l1_loss(multi, teacher.detach())
            if self.train_teacher_and_pose:
                loss = loss + F.l1_loss(teacher, depth[rows])
            self.model_optimizer.zero_grad()
            loss.backward()
            self.model_optimizer.step()
            total += loss.item() * len(rows)
        return total / len(frame)

    def abs_rel(self, val):
        frame, lookup, depth = val
        with torch.no_grad():
            return ((self.predict(frame, lookup)[1] - depth).abs() / depth).mean().item()


def make_data(n, generator):
    frame, lookup = torch.randn(n, 16, generator=generator), torch.randn(n, 16, generator=generator)
    mix = torch.randn(16, 2, generator=torch.Generator().manual_seed(9)) / 4
    depth = 3 + torch.tanh(frame @ mix)[:, :1] + torch.sin(2 * (lookup @ mix))[:, 1:]
    return frame, lookup, depth + 0.2 * torch.randn(n, 1, generator=generator)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    Trainer().train(make_data(800, generator), make_data(400, generator))


if __name__ == "__main__":
    main()
